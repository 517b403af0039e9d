"""Ratios as a picture: a bar for each from the least to the greatest, a dot for the median, a stroke for what it must be."""

import math
from html import escape
from statistics import median

ROW, TOP, LEFT, WIDTH, RIGHT = 18, 46, 470, 520, 24
GOOD, BAD, GREY = "#1a7f37", "#c9341c", "#8a8f98"


def plot(rows):
    rows = [row for row in rows if row.verdict and row.ratios]
    least = min([0.01, *(min(row.ratios) for row in rows)])
    most = max([2, *(max(row.ratios) for row in rows)])
    low, high = math.floor(math.log10(max(least, 1e-5))), math.ceil(math.log10(most) * 2) / 2

    def x(ratio):
        share = (math.log10(max(ratio, 10**low)) - low) / (high - low)
        return LEFT + WIDTH * share

    height = TOP + ROW * len(rows) + 20
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
             f'viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" font-family="sans-serif" font-size="11">',
             '<rect width="100%" height="100%" fill="#ffffff"/>',
             f'<text x="8" y="16" font-size="13">Highwater / Apache Kafka: median of the rounds, least to greatest; '
             f'stroke: what it must be</text>']
    for power in range(low, math.floor(high) + 1):
        lines.append(f'<line x1="{x(10**power):.1f}" y1="{TOP - 8}" x2="{x(10**power):.1f}" y2="{height - 16}" '
                     f'stroke="{"#555" if power == 0 else "#ddd"}"/>')
        lines.append(f'<text x="{x(10**power):.1f}" y="{TOP - 12}" text-anchor="middle" fill="#555">{10.0**power:g}</text>')
    for place, row in enumerate(rows):
        lines += strokes(row, TOP + ROW * place + ROW / 2, x)
    return "\n".join([*lines, "</svg>", ""])


def strokes(row, y, x):
    colour = GOOD if row.verdict == "holds" else BAD
    label = escape(f"{row.case.title}, {row.durability}: {row.bar.title}")
    yield f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{shortened(label)}</text>'
    yield (f'<line x1="{x(min(row.ratios)):.1f}" y1="{y}" x2="{x(max(row.ratios)):.1f}" y2="{y}" stroke="{colour}" '
           'stroke-width="4" stroke-opacity="0.4"/>')
    yield f'<circle cx="{x(median(row.ratios)):.1f}" cy="{y}" r="4" fill="{colour}"/>'
    if not row.bar.absolute:
        bar = x(row.bar.most if row.bar.most is not None else row.bar.least)
        yield f'<line x1="{bar:.1f}" y1="{y - 7}" x2="{bar:.1f}" y2="{y + 7}" stroke="{GREY}" stroke-width="2"/>'


def shortened(label):
    return label if len(label) <= 84 else label[:83] + "…"
