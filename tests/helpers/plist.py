#!/usr/bin/env python3
# Reads a property list in XML by the rules of `plutil -lint`, and more strictly: prints a line for each value,
# "KEY<TAB>KEY<TAB>VALUE". The exit status is 1 if the list breaks a rule. Python's plistlib must read the same
# values.
# SPDX-License-Identifier: LGPL-2.1-or-later
import plistlib
import re
import sys
import xml.parsers.expat

HEAD = (b'<?xml version="1.0" encoding="UTF-8"?>\n'
        b'<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" '
        b'"http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n')
LEAVES = {'key', 'string', 'integer', 'real', 'date', 'data', 'true', 'false'}
TEXTS = {
    'integer': re.compile(r'[+-]?[0-9]+\Z'),
    'real': re.compile(r'[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z'),
    'date': re.compile(r'[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z'),
    'data': re.compile(r'[A-Za-z0-9+/=\s]*\Z'),
    'true': re.compile(r'\Z'),
    'false': re.compile(r'\Z'),
}


class Broken(Exception):
    pass


class Reader:
    def __init__(self):
        self.open = []  # [tag, text, values]; values of a dict: key, value, key, value
        self.root = None

    def start(self, tag, attributes):
        if not self.open:
            if tag != 'plist' or attributes != {'version': '1.0'}:
                raise Broken('the root is <%s %s>' % (tag, attributes))
        elif attributes:
            raise Broken('<%s> has attributes' % tag)
        elif tag not in LEAVES | {'dict', 'array'}:
            raise Broken('<%s> is unknown' % tag)
        elif self.open[-1][0] in LEAVES:
            raise Broken('<%s> in <%s>' % (tag, self.open[-1][0]))
        elif self.open[-1][0] == 'dict' and (tag == 'key') == (len(self.open[-1][2]) % 2 == 1):
            raise Broken('<%s> in a dict out of order' % tag)
        elif self.open[-1][0] != 'dict' and tag == 'key':
            raise Broken('<key> outside of a dict')
        self.open.append([tag, '', []])

    def text(self, text):
        if self.open[-1][0] in LEAVES:
            self.open[-1][1] += text
        elif text.strip():
            raise Broken('text in <%s>' % self.open[-1][0])

    def end(self, tag):
        tag, text, values = self.open.pop()
        if tag == 'plist':
            if len(values) != 1:
                raise Broken('%d values in <plist>' % len(values))
            self.root = values[0]
            return
        if tag in TEXTS and not TEXTS[tag].match(text):
            raise Broken('<%s>%s' % (tag, text))
        if tag == 'dict':
            if len(values) % 2:
                raise Broken('a key without a value')
            keys = values[::2]
            if len(set(keys)) != len(keys):
                raise Broken('a key twice')
            value = dict(zip(keys, values[1::2]))
        elif tag == 'array':
            value = values
        elif tag == 'integer':
            value = int(text)
        elif tag in ('true', 'false'):
            value = tag == 'true'
        else:
            value = text
        self.open[-1][2].append(value)


def read(data):
    if not data.startswith(HEAD):
        raise Broken('the first lines are not those of a property list')
    reader = Reader()
    parser = xml.parsers.expat.ParserCreate('UTF-8')
    parser.StartElementHandler = reader.start
    parser.CharacterDataHandler = reader.text
    parser.EndElementHandler = reader.end
    parser.Parse(data, True)
    return reader.root


def show(path, value):
    if isinstance(value, dict):
        for key in value:
            show(path + [key], value[key])
    else:
        print('\t'.join(path + [str(value)]))


def main():
    data = sys.stdin.buffer.read() if len(sys.argv) < 2 else open(sys.argv[1], 'rb').read()
    try:
        root = read(data)
        if root != plistlib.loads(data, fmt=plistlib.FMT_XML):
            raise Broken('plistlib reads other values')
    except (Broken, xml.parsers.expat.ExpatError, ValueError) as e:
        print('plist: %s' % e, file=sys.stderr)
        sys.exit(1)
    show([], root)


main()
