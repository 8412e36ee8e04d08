// What Temporal's UI shows of an Execution and its items.

import { describe, expect, it } from 'vitest'

import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { executionDetails } from '../../../../workflows/landscaper/execution/details.ts'
import { executionPass, failed, leaving, pending, running, slow, succeeded } from './execution-pass.ts'

const lines = (items: readonly DeployItemView[]) => executionDetails(executionPass(items).pass).split('\n')

describe('the details of an execution', () => {
  it('have a line for each item: its result, its start time, or its dependencies', () => {
    const items = [
      { ...succeeded('db'), tookMs: 1234 },
      { ...failed('cache'), tookMs: 125_000, error: 'no answer\nfrom the target' },
      { ...running('app', ['db']), since: '2030-01-01T00:00:00Z' },
      pending('page', ['db', 'app']),
      leaving(pending('old')),
    ]
    const [head, ...rest] = lines(items)
    expect(head).toBe('- **Execution n/exec**: Progressing, 2 of 5 items finished')
    expect(rest).toEqual([
      '  - cache (example.com/theirs): Failed after 2 min: `no answer from the target`',
      '  - app (example.com/theirs): Progressing since 2030-01-01 00:00:00 UTC',
      '  - page (example.com/theirs): not begun, waits for app',
      '  - old (example.com/theirs): to be uninstalled',
      '  - db (example.com/theirs): Succeeded after 1.2 s',
    ])
  })

  it('name the item that waits for its deployer', () => {
    const untouched = { ...running('app'), phase: undefined }
    expect(lines([untouched])[1]).toBe('  - app (example.com/theirs): waits for its deployer')
  })

  it('show an item as started during its first attempt, although its status does not', () => {
    const { pass } = executionPass([slow(pending('app'))])
    pass.background.start('uid-app', () => new Promise(() => undefined))
    expect(executionDetails(pass).split('\n')[1]).toMatch(/: begun$/)
  })

  it('give the reason why an item has not started: a dependency failed or did not start', () => {
    const { pass } = executionPass([failed('db'), pending('app', ['db']), pending('page', ['app'])])
    pass.draft.phase = 'Failed'
    expect(executionDetails(pass).split('\n').slice(2)).toEqual([
      '  - app (example.com/theirs): not begun: db Failed',
      '  - page (example.com/theirs): not begun, needs app',
    ])
  })

  it('have the error of the execution if no item has one', () => {
    const head = (items: readonly DeployItemView[]) => {
      const { pass } = executionPass(items)
      pass.draft.lastError = { reason: 'Stuck', message: 'they wait for <each other>', operation: 'o' }
      return executionDetails(pass).split('\n')[0]
    }
    expect(head([pending('a')])).toMatch(/: `they wait for <each other>`$/)
    expect(head([{ ...failed('a'), error: 'broke' }])).toMatch(/items finished$/)
  })

  it('shorten the types of the group, and omit very short durations', () => {
    const type = 'landscaper.gardener.cloud/mock'
    expect(lines([{ ...succeeded('db'), type, tookMs: 0 }])[1]).toBe('  - db (mock): Succeeded at once')
  })

  it('are counts and the notable items for many items, within the limit of Temporal', () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ ...running(`item-${index}`), error: 'e'.repeat(300) }))
    const [, counts, ...rest] = lines([...many, ...many.map(({ item }) => succeeded(`done-${item}`))])
    expect(counts).toBe('  - 1000 Progressing, 1000 Succeeded')
    expect(rest.at(-1)).toBe('  - and 940 more')
    expect(Buffer.byteLength([counts, ...rest].join('\n'))).toBeLessThan(20_000)
  })
})
