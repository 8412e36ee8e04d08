// Makes statements.json of what record-statements.js has noted: of statements that differ in the length of a list only, the first. Run in the checkout whose
// processes were recorded; the second argument is the file to write.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = '', file = new URL('statements.json', import.meta.url)] = process.argv.slice(2)
const lines = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
/** Others cannot be prepared: begin, listen, lock table. */
const texts = lines
  .map((line) => String(JSON.parse(line)))
  .filter((text) => /^\s*(with|select|insert|update|delete)\b/i.test(text))

/** @param {string} text */
const shapeOf = (text) =>
  text
    .replace(/\s+/g, ' ')
    .replace(/\$\d+/g, '$')
    .replace(/\$(, \$)+/g, '$')
    .replace(/\(\$\)(, \(\$\))+/g, '($)')

const byShape = new Map()
for (const text of texts.toSorted((left, right) => left.length - right.length || (left < right ? -1 : 1)))
  if (!byShape.has(shapeOf(text))) byShape.set(shapeOf(text), text)

const migration = readdirSync('migrations').sort().at(-1)?.replace('.ts', '')
const statements = [...byShape.values()].sort()
writeFileSync(file, `${JSON.stringify({ migration, statements }, undefined, 2)}\n`)
console.log(`${statements.length} statements of a release whose newest migration is ${migration}`)
