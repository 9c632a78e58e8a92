"""OmniVoice: masked diffusion over codec tokens that clones, designs and invents voices in more than 600 languages."""
