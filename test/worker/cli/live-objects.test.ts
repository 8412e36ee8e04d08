import { describe, expect, it } from 'vitest'

import { clientText, foreignWriteAt, writeOfEvent } from '../../../worker/cli/live-objects.ts'

const at = new Date('2026-02-03T04:05:06.700Z')
const entry = (manager: string, time: string, fieldsV1: Record<string, Record<string, unknown>> = {}) => ({
  manager,
  time,
  fieldsV1,
})

describe('the foreign writer of an object', () => {
  it('is the field manager whose last write matches the time, with its fields', () => {
    const fields = { 'f:metadata': { 'f:annotations': {} }, 'f:spec': { '.': {}, 'f:blueprint': {}, 'f:imports': {} } }
    const managedFields = [
      entry('pawl-installation', '2026-02-03T04:05:06Z'),
      entry('kubectl-create', '2026-02-02T01:00:00Z'),
      entry('kubectl-edit', '2026-02-03T04:05:06Z', fields),
    ]
    expect(foreignWriteAt({ managedFields }, at)).toEqual({
      manager: 'kubectl-edit',
      fields: ['metadata.annotations', 'spec.blueprint', 'spec.imports'],
    })
  })

  it.each([
    ['has written again since', '2026-02-03T05:00:00Z'],
    ['wrote long before', '2026-02-03T04:04:00Z'],
    ['says no time', ''],
  ])('is unknown if the write %s', (_, time) => {
    expect(foreignWriteAt({ managedFields: [entry('kubectl-edit', time)] }, at)).toBeUndefined()
  })

  it('of its creation is the only client other than Pawl', () => {
    const later = [
      entry('kubectl-client-side-apply', '2026-02-03T05:00:00Z'),
      entry('pawl-cli', '2026-02-03T05:00:00Z'),
    ]
    expect(foreignWriteAt({ managedFields: later }, at, true)).toEqual({
      manager: 'kubectl-client-side-apply',
      fields: [],
    })
    const two = [...later, entry('kubectl-edit', '2026-02-03T06:00:00Z')]
    expect(foreignWriteAt({ managedFields: two }, at, true)).toBeUndefined()
  })

  it('is unknown without managed fields', () => {
    expect(foreignWriteAt({}, at)).toBeUndefined()
  })
})

describe('the writer of an event', () => {
  const live = { manager: 'kubectl-edit', fields: ['spec.blueprint'] }
  it.each([
    ['the manager in the journal', 'pawl-website', live, 'Pawl (website)', []],
    ['a command of Pawl', 'pawl-cli', undefined, 'a user with pawl', []],
    ['the manager in both, with its fields', 'kubectl-edit', live, 'field manager kubectl-edit', ['spec.blueprint']],
    ['the manager of the live object', null, live, 'field manager kubectl-edit', ['spec.blueprint']],
    ['unknown', null, undefined, 'a client other than Pawl', undefined],
  ])('is %s', (...[, manager, found, text, fields]) => {
    const write = writeOfEvent({ manager }, found)
    expect(clientText(write)).toBe(text)
    expect(write?.fields).toEqual(fields)
  })
})
