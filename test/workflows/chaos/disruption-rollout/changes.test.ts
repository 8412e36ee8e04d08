import { describe, expect, it } from 'vitest'

import { containerHashes, updatedContainers } from '../../../../workflows/chaos/disruption-rollout/changes.ts'

const [FIRST, LATER, LAST] = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', '2026-01-01T02:00:00Z']
const app = { name: 'app', image: 'shop:1', env: [{ name: 'A', value: '1' }] }
const newer = { ...app, image: 'shop:2' }
const barer = { ...app, env: [] }
const pod = (...containers: readonly { readonly name: string }[]) => containerHashes({ containers })

describe('the containers of a target', () => {
  const first = updatedContainers({}, pod(app), FIRST)

  it('are not a change at the first observation (C8)', () => {
    expect(first.lastContainerChangeTime).toBeUndefined()
    expect(Object.keys(first.latestContainersHash ?? {})).toEqual(['app'])
  })

  it('are unchanged by another order of keys and by changes outside of containers (C8)', () => {
    const turned = Object.fromEntries(Object.entries(app).reverse()) as typeof app
    expect(updatedContainers(first, pod(turned), LATER)).toEqual(first)
    const changed = updatedContainers(first, pod(newer), LATER)
    expect(updatedContainers(changed, pod(newer), LAST)).toEqual(changed)
  })

  it.each<readonly [string, ReturnType<typeof pod>]>([
    ['image', pod(newer)],
    ['environment', pod(barer)],
    ['number', pod(app, { name: 'side' })],
    ['absence', pod()],
    ['init containers', containerHashes({ containers: [app], initContainers: [{ name: 'init' }] })],
  ])('have changed with their %s (C8)', (_, template) => {
    expect(updatedContainers(first, template, LATER).lastContainerChangeTime).toBe(LATER)
  })
})
