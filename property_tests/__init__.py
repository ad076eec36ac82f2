"""Laws of the product, checked against definitions on random small worlds."""
