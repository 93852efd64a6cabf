"""Pages made from templates, complete in themselves: styles, scripts and data are in them."""

from typing import Any

PACKAGE = "dataset_tools"


def render(template: str, package: str = PACKAGE, **values: Any) -> str:
    """Render a template with values; ``source(name)`` in it is another file as it is.

    Args:
        template: Name of the file; one that ends in ``.html`` has its values escaped.
        package: Package in whose folder ``templates`` it is, without ``clevrskills.``; it may use
            files of the pages of datasets, too.
        values: The values.
    """
    import jinja2

    folders = [jinja2.PackageLoader(f"clevrskills.{name}") for name in (package, PACKAGE)]
    loader = jinja2.ChoiceLoader(folders)
    page = template.endswith(".html")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=page,
        undefined=jinja2.Undefined if page else jinja2.StrictUndefined,
        keep_trailing_newline=not page,
    )
    environment.globals["source"] = lambda name: loader.get_source(environment, name)[0]
    return environment.get_template(template).render(values)
