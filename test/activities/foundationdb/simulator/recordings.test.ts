// The copies of the recordings in this project against the recordings themselves.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import {
  hasRecordings,
  type RecordedCommand,
  recordedCommands,
  RECORDINGS,
} from '../../../support/foundationdb/recordings.ts'
import {
  factsOf,
  type RecordedCommand as PackedCommand,
  recordedCommands as packedCommands,
  recordedShapes,
  shapeOf,
} from './recordings.ts'

const PACKED = join(import.meta.dirname, 'recordings')
const FILES = join(import.meta.dirname, '../recordings')

const folders = readdirSync(PACKED).flatMap((file) => /^(\d.*)\.jsonl$/.exec(file)?.[1] ?? [])
const originals = new Map(recordedCommands(() => true).map((command) => [command.name, command]))
const shapes = recordedShapes()

function compare(original: RecordedCommand | undefined, { name, argv, exit, stdout, stderr, document }: PackedCommand) {
  expect(original?.argv.slice(-argv.length), name).toEqual(argv)
  expect(original?.exitCode ?? exit, name).toBe(exit)
  expect(original?.stderr, name).toBe(stderr)
  const [before = '', after] = stdout.split(/<document>|<help>/)
  const found = original?.stdout ?? ''
  if (after === undefined) expect(found, name).toBe(stdout)
  else expect([found.startsWith(before), found.endsWith(after)], name).toEqual([true, true])
  if (document === undefined || after === undefined) return
  const status = JSON.parse(found.slice(before.length, found.length - after.length)) as Parameters<typeof factsOf>[0]
  expect(factsOf(status), name).toEqual(document.facts)
  expect([...shapeOf(status)].sort(), name).toEqual([...(shapes[document.shape] ?? [])].sort())
}

describe.skipIf(!hasRecordings)('the copies of the recordings', () => {
  it.each(folders)('%s has the output of the recorded commands', (folder) => {
    const packed = packedCommands(folder)
    expect(packed.length).toBeGreaterThan(0)
    for (const command of packed) compare(originals.get(`${folder}/${command.name.slice(0, 3)}`), command)
  })

  it.each(readdirSync(FILES, { recursive: true, encoding: 'utf8' }).filter((file) => /\.\w+$/.test(file)))(
    '%s is unchanged',
    (file) => {
      expect(readFileSync(join(FILES, file), 'utf8')).toBe(readFileSync(join(RECORDINGS, file), 'utf8'))
    },
  )
})
