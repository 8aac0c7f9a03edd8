"""What tests of several packages share: archives written by hand, samples, bags read back, processes on a stage."""
