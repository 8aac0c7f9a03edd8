"""Products of pipelines: each has a record that describes it, in bags, with an index that can be rebuilt from them.

`product.py` is the record of a product and queries of many; `parts.py` are the bags that hold them;
`index.py` is the database next to these, `store.py` the folder with both; `product_recorder.py` stores a pipeline's
outputs. docs/products.md describes the format for other programs.
"""
