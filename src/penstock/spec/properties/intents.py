"""intents: what each property of the pull-stream protocol is for."""

from __future__ import annotations

from typing import Final

INTENTS: Final = {
    "B1": "A consumer is never surprised: what arrives is what it has asked for.",
    "B2": "A consumer can wait for each answer, and knows that none counts twice.",
    "B3": "A consumer can tell which answer belongs to which request without numbering them.",
    "B4": "Asking ahead is a consumer's free choice, and a producer must not lose such asks.",
    "B5": "Work is done only when its result is wanted, so nothing piles up.",
    "B6": "Counting asks is enough to bound what can arrive.",
    "B7": "The end is final, so what a consumer did about it stays right.",
    "B8": "Late asks neither hang nor revive a stream that is over.",
    "B9": "The rhythm of asking changes nothing about what is received.",
    "B10": "The end and the last value are two things, so no value is lost or counted twice.",
    "B11": "Files and connections are closed once, however a stream comes to its end.",
    "B12": "Modules that answer at once and modules that answer late can be put together freely.",
    "B13": "A long stream of ready values must not overflow the stack.",
    "B14": "A pipeline is built first and started later, by its sink alone.",
    "B15": "Two pipelines made of the same parts do not disturb each other.",
    "A1": "A consumer may lose interest at any moment, and must not have to wait for a good one.",
    "A2": "Whoever aborts hears that it is done, and need not handle a value then.",
    "A3": "A consumer that does not care to be told can still stop a stream.",
    "A4": "Nobody is left waiting for an answer from a stream that was stopped.",
    "A5": "A stopped stream stays stopped, and says so to everybody who asks.",
    "A6": "Aborting too late does no harm and changes no reason.",
    "A7": "The source hears of an abort however long the pipeline is, and once.",
    "A8": "A step that has enough, as take has, stops what feeds it.",
    "A9": "A consumer that is done causes no more work.",
    "A10": "After an abort the values that are left are not wanted any more.",
    "A11": "Slow work inside a step does not keep the source running.",
    "A12": "Those who free things at the end do so once, and know whether it was a good end.",
    "A13": "No input of a joint is forgotten when it is stopped.",
    "F1": "An error cannot be overlooked by asking again.",
    "F2": "A consumer can say why it stops, and the reason is not lost on the way.",
    "F3": "Saying why one stops does not oblige anybody to listen for the answer.",
    "F4": "The first cause is what people need to know; what follows from it must not hide it.",
    "F5": "A failing step stops its source and makes its own error known, in that order.",
    "F6": "An error reaches the sink as it was raised, and nothing else keeps running.",
    "F7": "Errors disappear only where the program says so.",
    "F8": "It is clear which values one can count on before each kind of end.",
    "F9": "The result of a pipeline is told in one place and once.",
    "F10": "Modules of different authors can be joined without try blocks around each call.",
    "F11": "Nobody is left waiting when a stream is stopped for an error.",
    "F12": "Nested sources are closed from the inside out, so none is left open.",
}
"""What each property is for, by its id."""
