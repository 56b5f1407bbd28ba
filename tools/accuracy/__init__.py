"""Scores the planner against what real servers printed.

  cases      the project's own schema of a measured case (tests/measured/README.md)
  external   a folder of cases in the collection format, brought into that schema
  planner    asks `vramwise batch`
  figures    one figure over many cases: errors, groups, worst rows
  groups     version ranges, families and kinds of card
  serving    vLLM, SGLang and TensorRT-LLM
  llamacpp   llama.cpp's own dry runs, real logs and published file sizes
  facts      parameter counts, cache layouts, launch lines
  bounds     what may not get worse
  report     text, JSON, docs/accuracy.md
"""
