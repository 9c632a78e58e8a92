"""What stands behind `dev.py`: builds the environment and the test host, runs checks, demo, benches and a local server.

Standard library only, because it runs before anything is installed. The pack itself never imports it.
"""
