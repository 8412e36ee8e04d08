// Tests that the main thread parses or refuses hostile text of users and servers within a limited CPU time.

import { describe, expect, it } from 'vitest'
import { toDeployError } from '../../../../../activities/landscaper/deploy/run/deploy-errors.ts'
import { parseDuration } from '../../../../../workflows/kit/index.ts'
import { covers } from '../../../../../activities/landscaper/deploy/objects/overlay.ts'
import { readExportsConfig } from '../../../../../activities/landscaper/deploy/objects/resource-exports.ts'
import { readKubeconfig } from '../../../../../activities/landscaper/deploy/target/kubeconfig.ts'
import { readYamlDocument } from '../../../../../activities/landscaper/deploy/target/yaml-document.ts'
import { KubeError } from '../../../../../activities/kube/errors.ts'
import { expectCpuBelow } from '../../../../support/costs/cpu-limit.ts'

/** CPU time, so that other load changes the result little. Code without protection takes seconds to minutes. */
const SOON_MS = 500
const MANY = 1_000_000

describe('a Target of hostile text', () => {
  const entries = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: v`)

  it.each([
    ['very many keys', entries(85_000).join('\n')],
    ['very many keys in one line', `{${entries(60_000).join(',')}}`],
    ['open brackets', '['.repeat(MANY)],
    ['aliases', `a: &a [${'v, '.repeat(1_000)}]\n${entries(2_000).join('\n').replaceAll(': v', ': *a')}`],
    ['more than a Secret holds', 'a'.repeat(2 * MANY)],
  ])('is refused: %s', (_, text) => {
    expect(timed(() => readYamlDocument(text))).toHaveProperty('problem')
  })

  it('is read with very many aliases that expand to little', () => {
    const aliases = entries(2_000).map((entry, index) => `${entry.replace('v', `&a${index} v`)}\nl${index}: *a${index}`)
    expect(timed(() => readYamlDocument(aliases.join('\n')))).toHaveProperty('value.l1999', 'v')
  })

  it('is read when it is large as kubeconfigs are', () => {
    const clusters = Array.from({ length: 500 }, (_, index) => `- name: c${index}\n  cluster: {server: "https://h"}`)
    const text = ['clusters:', ...clusters]
    expect(timed(() => readYamlDocument(text.join('\n')))).toHaveProperty('value.clusters.length', 500)
  })

  it('has a server of a bearable length', () => {
    const cluster = { server: `https://h${'/'.repeat(MANY)}x` }
    const kubeconfig = {
      clusters: [{ name: 'a', cluster }],
      users: [{ name: 'a', user: {} }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      'current-context': 'a',
    }
    expect(() => timed(() => readKubeconfig(kubeconfig))).toThrow(
      /server: found a text of 1000010 characters; expected an address/,
    )
  })
})

describe('a configuration of hostile text', () => {
  it.each(['a.'.repeat(MANY) + 'a', 'a'.repeat(MANY), 'a.'.repeat(20) + 'a'])(
    'is refused: an export key, %#',
    (key) => {
      const mistakes: string[] = []
      const fromResource = { apiVersion: 'v1', kind: 'Secret', name: 's' }
      timed(() =>
        readExportsConfig({ exports: [{ key, jsonPath: '.x', fromResource }] }, 'e', { mistakes, hasValues: false }),
      )
      expect(mistakes).toEqual([
        expect.stringMatching(/^e\.exports\[0\]\.key: found \d+ (?:characters|parts); expected at most 253/),
      ])
    },
  )

  it('is no quantity that is very long', () => {
    const limits = (cpu: string) => ({ limits: { cpu } })
    expect(timed(() => covers(limits(`${'1'.repeat(MANY)}y`), limits(`${'1'.repeat(MANY)}x`)))).toBe(false)
    expect(covers(limits('1000m'), limits('1'))).toBe(true)
  })

  it('is no duration that is very long', () => {
    expect(timed(() => parseDuration('1'.repeat(MANY)))).toBeUndefined()
    expect(timed(() => parseDuration('1s'.repeat(MANY)))).toBeUndefined()
    expect(parseDuration('1h'.repeat(50))).toBe(50 * 3_600_000)
  })
})

describe('an answer of hostile text', () => {
  it.each([
    'a'.repeat(MANY),
    '"'.repeat(MANY),
    '\\'.repeat(MANY),
    '"\\'.repeat(MANY),
    'field "'.repeat(MANY),
    'Invalid value: '.repeat(MANY),
    `Invalid value: ${'x'.repeat(MANY)}`,
    `"${'a '.repeat(MANY)}`,
  ])('is cut, then read: %#', (message) => {
    for (const status of [400, 403, 500]) {
      const error = new KubeError(`GET /x: ${status} R: ${message}`, { status, reason: 'R' })
      expect(timed(() => toDeployError('Apply', error)).message.length).toBeLessThanOrEqual(1000)
    }
  })
})

/** Fails if the work uses more than SOON_MS of CPU time. */
function timed<T>(work: () => T): T {
  return expectCpuBelow(SOON_MS, work)
}
