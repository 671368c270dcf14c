"""The pictures of the page, one kind in each module: from plain numbers and words to inline SVG."""
