import { describe, expect, it } from 'vitest'

import { type CpuProfile, profileText, summarise } from './profile-text.ts'

const PROJECT = new URL('../../', import.meta.url).href

// root -> pass (ours) -> query (a package) -> pass (ours, again); root -> idle.
const PROFILE: CpuProfile = {
  nodes: [
    node(1, '(root)', '', [2, 5]),
    node(2, 'pass', `${PROJECT}activities/kube/write.ts`, [3]),
    node(3, 'query', `${PROJECT}node_modules/pg/lib/client.js`, [4]),
    node(4, 'pass', `${PROJECT}activities/kube/write.ts`),
    node(5, '(idle)', ''),
  ],
  samples: [2, 3, 4, 5],
  timeDeltas: [1000, 2000, 3000, 90_000],
}
const PASS = 'pass activities/kube/write.ts:10'
const QUERY = 'query pg/lib/client.js:10'

describe('the summary of a CPU profile', () => {
  it('leaves out the time in which the thread was idle', () => {
    expect(summarise(PROFILE).busyMs).toBe(6)
  })

  it('ranks by function, and by package or file of ours', () => {
    const { bySelf, bySource } = summarise(PROFILE)
    expect(bySelf).toEqual([
      [PASS, 4],
      [QUERY, 2],
    ])
    expect(bySource).toEqual([
      ['activities/kube/write.ts', 4],
      ['pg', 2],
    ])
  })

  it('counts a function that calls itself once', () => {
    expect(summarise(PROFILE).byInclusive).toEqual([
      [PASS, 6],
      [QUERY, 5],
    ])
  })

  it('is shown with shares of the busy time', () => {
    expect(profileText(summarise(PROFILE))).toMatch(/`pass activities\/kube\/write.ts:10` +\| +6 \| +100.0% \|/)
  })
})

function node(id: number, functionName: string, url: string, children: readonly number[] = []) {
  return { id, callFrame: { functionName, url, lineNumber: 9 }, children }
}
