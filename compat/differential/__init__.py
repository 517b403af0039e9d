"""The differential run: one seeded script of requests, sent to Apache Kafka and to Highwater, and the answers compared.

    schema    Kafka's message schemas, out of its client jar: how any request is written and any answer is read
    values    what stands in a field: what makes sense in the world as it is, or something at the field's edge
    world     what the script has made so far: topics, groups, producers, sessions
    script    chapters of requests, the same for a seed
    wire      both brokers, in lock step: frames, connections, answers that are still to come
    compare   answers field by field, with what must differ between two brokers taken for the same
    settle    waits until a change is seen everywhere, and compares what it led to
    reasons   the differences that are meant, each with its reason
"""
