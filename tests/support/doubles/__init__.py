"""Doubles of services and of remote systems; each module's first line names the part that it replaces.

A double speaks the real protocol over a real socket, except `clock` and `epoch_calls`. Tests of a part use the real
part; doubles replace its neighbours if those must fail on demand, or cannot run here.
"""
