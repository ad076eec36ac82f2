"""How a view becomes a picture: rows, places in pixels, SVG."""
