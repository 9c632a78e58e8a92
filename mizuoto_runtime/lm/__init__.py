"""Language models that speak: decoder, caches and sampling shared by the autoregressive engines."""
