import { describe, expect, it } from 'vitest'

import { formatTime, plainPaint } from '../../../../worker/cli/query/format.ts'
import { lastEdit, levelDiffText } from '../../../../worker/cli/query/level-diff.ts'
import { versionChanges } from '../../../../worker/cli/query/versions.ts'
import { after, event } from './build-node.ts'

const version = (seq: number, generation: number, ready: string) => ({
  ...event(seq),
  projection: { metadata: { generation }, status: { ready } },
})
const created = { ...version(1, 1, 'no'), type: 'ADDED' as const }
const settled = { ...version(2, 1, 'yes'), writer: 'widget/ns/one/u' }
const edited = version(3, 2, 'yes')
const foreignStatus = version(4, 2, 'forged')
const deleted = { ...version(5, 2, 'yes'), type: 'DELETED' as const }
const write = {
  pass: 2,
  step: 'apply',
  object: 'ConfigMap/ns/one',
  verb: 'patch',
  version: 9,
  error: null,
  at: after(4),
  answeredAt: null,
}
const by = { manager: 'kubectl-edit', fields: [] }

describe('the difference of an object in level mode', () => {
  it.each([
    [
      'an edit',
      [created, settled, edited, foreignStatus],
      [write],
      'field manager kubectl-edit changed spec (generation 1 -> 2) at T; 1 write by Pawl since',
    ],
    [
      'the creation',
      [created, settled],
      [],
      'created at T by field manager kubectl-edit, and not edited since; no write by Pawl since',
    ],
    ['the deletion', [created, settled, edited, deleted], [], 'was deleted at T; no write by Pawl since'],
    ['nothing', [settled], [], 'the journal has no edit; no write by Pawl since'],
  ])('begins with %s', (_, versions, writes, answer) => {
    const edit = lastEdit(versionChanges(versions))
    const options = { paint: plainPaint, isWide: false, now: after(0), name: 'Widget ns/one' }
    const text = levelDiffText(
      { edit, by, writes },
      { ...options, replay: 'pawl replay w/one', next: 'pawl history w/one' },
    )
    const lines = text.replaceAll(formatTime(after(0), after(0)), 'T').split('\n')
    expect(lines[0]).toBe(`Widget ns/one: ${answer}`)
    expect(lines.filter((line) => line.includes('patch ConfigMap'))).toHaveLength(writes.length)
    expect(lines.slice(-4)).toEqual([
      'level mode has no jobs to compare: a pass starts at each change',
      '',
      'next: pawl history w/one',
      '',
    ])
  })
})
