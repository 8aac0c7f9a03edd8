"""Logs of MessagePack as CDFF and Rock write them: streams of samples with their times, read where they lie."""
