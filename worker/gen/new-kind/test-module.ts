// The test of a new kind, as text.

import type { KindNames } from './kind-names.ts'

/** Passes over an object of the kind: one that is there, and one that goes. */
export function testModule({ kind, value, layout, folder }: KindNames): string {
  const isOwn = layout === 'checkout'
  const from = isOwn ? `../../../../${folder}` : '.'
  const kit = isOwn ? '../../../../workflows/kit' : 'pawl/kit'
  const [index, testing] = isOwn ? [`${kit}/index.ts`, `${kit}/testing/index.ts`] : [kit, `${kit}/testing`]
  return `import { describe, expect, it } from 'vitest'

import { done } from '${index}'
import { runPass, stored } from '${testing}'
import type { ConfigMap } from '${isOwn ? `${from}/config-map.ts` : 'pawl/kit/v1'}'
import { ${value}Controller } from '${from}/${isOwn ? 'controller' : 'controllers'}.ts'

const target = { spec: { message: 'hello' } }
const mapWith = (message: string) => stored<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', data: { message } })

describe('a pass over an object of kind ${kind}', () => {
  it('makes the ConfigMap when it is not there', async () => {
    const { outcome, written, status, next } = await runPass(${value}Controller, { target })
    expect([outcome, written]).toEqual([done, ['apply ConfigMap one']])
    expect(next.state.configMap?.data).toEqual({ message: 'hello' })
    expect(status).toEqual({ message: 'hello' })
  })

  it('writes nothing when the ConfigMap says what it should', async () => {
    const { written } = await runPass(${value}Controller, { target, state: { configMap: mapWith('hello') } })
    expect(written).toEqual([])
  })

  it('says nothing in the status that is not so', async () => {
    const fault = { code: 'Forbidden', message: 'no', retryable: true }
    const { outcome, status } = await runPass(${value}Controller, { target, fails: { apply: fault } })
    expect([outcome.faults, status]).toEqual([[fault], {}])
  })

  it('lets the object go when the ConfigMap is gone', async () => {
    const { finalizer } = ${value}Controller
    const metadata = { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: [finalizer ?? ''] }
    const going = { target: { ...target, metadata }, state: { configMap: mapWith('hello') } }
    const first = await runPass(${value}Controller, going)
    expect([first.written, first.ended]).toEqual([['remove ConfigMap one'], undefined])
    expect((await runPass(${value}Controller, first.next)).ended).toBe('Deleted')
  })
})
`
}
