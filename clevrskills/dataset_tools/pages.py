"""Self-contained pages rendered from templates."""

from typing import Any

PACKAGE = "dataset_tools"


def render(template: str, package: str = PACKAGE, **values: Any) -> str:
    """Render a template; ``source(name)`` in it includes another file unchanged.

    Args:
        template: Name of the file; values are escaped in ``.html`` files.
        package: Package with the folder ``templates``, without ``clevrskills.``; templates of
            datasets are found, too.
        values: Values for the template.
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
