"""The live suite: the real Agent Zero, a scripted model, a real browser."""
