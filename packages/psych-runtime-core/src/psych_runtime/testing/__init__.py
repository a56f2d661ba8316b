"""What tests of agents are made of: a scripted model, a log builder, stub servers."""
