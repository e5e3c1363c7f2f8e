"""What every service over HTTP does alike: bounded bodies, refusals in JSON, a server that stops in order."""
