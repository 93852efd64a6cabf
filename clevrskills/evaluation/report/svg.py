"""SVG markup of the figures of reports."""

from html import escape


def element(tag: str, *content: str, **attributes: object) -> str:
    """Return an element; ``_`` in the name of an attribute stands for ``-``.

    Args:
        tag: Name of the element.
        content: Markup inside it.
        attributes: Values by name, in the order in which they are written.
    """
    given = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f"<{tag}{given}>{''.join(content)}</{tag}>" if content else f"<{tag}{given}/>"


def text(words: str, x: object, y: object, anchor: str = "start") -> str:
    """Return plain text that starts or ends at a point, or has its ``middle`` there."""
    place = {"x": x, "y": y, **({"text_anchor": anchor} if anchor != "start" else {})}
    return element("text", escape(words), **place)


def figure(label: str, width: float, height: str, parts: list[str]) -> str:
    """Return a figure with the parts, its ``label`` for screen readers."""
    return element(
        "svg",
        "\n" + "\n".join(parts) + "\n",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=label,
        font_family="sans-serif",
        font_size=12,
        fill="currentColor",
    )


def on_white(figure: str) -> str:
    """Return a figure as the content of a file, which may be shown on a dark ground."""
    return figure.replace("<svg ", '<svg style="background:#fff;color:#222" ', 1)
