"""The ``psych`` command: scaffolds projects and reports on an installation. It never runs an
agent.
"""
