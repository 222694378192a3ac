"""Chinese questions: whether a sentence holds the sort of value asked for, close to the attribute it is asked of.

Words alone do not tell here: passages on the same event share all characters of a question but the answer. What tells
is a fresh date, number, name or place beside the attribute ("导演", "上映") in a passage on the same subject.
"""
