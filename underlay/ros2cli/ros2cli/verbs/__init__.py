"""One module per verb, each with ``add_arguments(parser)`` and ``main(args)``; imported only when it is called."""
