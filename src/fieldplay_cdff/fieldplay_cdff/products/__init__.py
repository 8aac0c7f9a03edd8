"""Products that pipelines keep: each with a record of what it is, in bags, with an index that is made anew of them.

`product.py` is the record of a product, and what can be asked of many; `parts.py` are the bags that hold them;
`index.py` is the database beside these, `store.py` the folder with both; `keeper.py` takes what comes out of a
pipeline. docs/products.md describes the format for other programs.
"""
