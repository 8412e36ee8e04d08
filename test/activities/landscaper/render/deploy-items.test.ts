import { describe, expect, it } from 'vitest'
import { checkDeployItems, decodeDeployItems } from '../../../../activities/landscaper/render/deploy-items.ts'
import { printPath } from '../../../../activities/landscaper/render/field-reader.ts'

const SCOPE = {
  namespace: 'demo',
  imports: {
    cluster: { target: target('first') },
    clusters: { list: [target('list-0'), target('list-1')] },
    regions: { map: { eu: target('region-eu') } },
    elsewhere: { target: { name: 'first', namespace: 'kube-system' } },
  },
}

describe('the decoder of rendered deploy items', () => {
  it('treats null like a missing field', () => {
    expect(decode({})).toEqual({ items: [], problems: [] })
    expect(decode({ deployItems: null })).toEqual({ items: [], problems: [] })
    const items = [{ name: 'a', type: '', config: {} }]
    expect(decode({ deployItems: [{ name: 'a', timeout: null, target: null }] })).toEqual({ items, problems: [] })
  })

  it('reports the path of every field with a wrong type, but not its value', () => {
    const item = {
      name: 7,
      type: 'mock',
      config: 'canary',
      dependsOn: 'canary',
      labels: { a: 1 },
      updateOnChangeOnly: 'yes',
    }
    expect(decode({ deployItems: [item, 'canary'] }).problems).toEqual(
      [
        'deployItems[0].labels.a: found a number; expected text',
        'deployItems[0].dependsOn: found a string; expected a list',
        'deployItems[0].updateOnChangeOnly: found a string; expected true or false',
        'deployItems[0].name: found a number; expected text',
        'deployItems[0].config: found a string; expected a map',
        'deployItems[1]: found a string; expected a map',
      ].sort(byText),
    )
  })

  it.each([
    [{ import: 'nothing' }, 'no target import "nothing"; expected one of cluster, clusters, regions, elsewhere'],
    [{ import: 'toString' }, 'no target import "toString"; expected one of cluster, clusters, regions, elsewhere'],
    [{ import: 'clusters' }, 'index is missing; add it, because import "clusters" is a target list'],
    [{ import: 'clusters', index: 2 }, 'index: found 2; expected less than 2, the length of target list "clusters"'],
    [{ import: 'regions', index: 0 }, 'key is missing; add it, because import "regions" is a target map'],
    [{ import: 'regions', key: 'us' }, 'no key "us" in target map "regions"; expected one of eu'],
    [{ import: 'elsewhere' }, 'found a target in namespace "kube-system"; expected namespace "demo"'],
    [{ name: 'a', namespace: 'kube-system' }, 'found a target in namespace "kube-system"; expected namespace "demo"'],
    [{}, 'import and name are missing; set one of them'],
  ])('refuses the target reference %j', (reference, problem) => {
    expect(decode({ deployItems: [{ name: 'a', target: reference }] }).problems).toEqual([
      `deployItems[0].target: ${problem}`,
    ])
  })
})

describe('the check of deploy items', () => {
  it('accepts a valid list, even with a dependency cycle', () => {
    expect(checkDeployItems([item('a', ['b']), item('b', ['a']), { ...item('c'), timeout: '1h30m' }])).toEqual([])
  })

  it('reports every problem with the name or the number of its item', () => {
    const items = [
      item('a'),
      item('a', ['b', 'ghost']),
      { type: 'mock', config: { apiVersion: 'v1', kind: 'x' } },
      { name: 'b', timeout: 'soon' },
      { ...item('Ä b'), labels: { 'a b': 'c', tier: 'a/b', 'x.org/tier': 'b_1' } },
      { ...item('c'.repeat(90)), config: { kind: 'x' } },
      { ...item('d'), timeout: '-5m' },
    ]
    expect(checkDeployItems(items)).toEqual([
      'deploy item "a": found the name twice; expected unique names',
      `deploy item "a": dependsOn: no item "ghost"; expected names of a, b, Ä b, ${'c'.repeat(80)}..., d`,
      'deploy item 3: name is missing; add it',
      'deploy item "b": type: found nothing; expected the type, which selects the deployer',
      'deploy item "b": config: found nothing; expected a map with apiVersion and kind',
      'deploy item "b": timeout: found an invalid duration; expected a duration such as 10m, or none',
      'deploy item "Ä b": name: found invalid characters; expected lower-case letters and digits, with dashes and dots between them',
      'deploy item "Ä b": labels.a b: found an invalid label key; expected a name such as tier or example.org/tier',
      'deploy item "Ä b": labels.tier: found an invalid label value; expected at most 63 letters, digits, dots, dashes and underscores',
      `deploy item "${'c'.repeat(80)}...": name: found 90 characters; expected at most 63`,
      `deploy item "${'c'.repeat(80)}...": config.apiVersion: found nothing; expected the API version of the deployer's configuration`,
      'deploy item "d": timeout: found an invalid duration; expected a duration such as 10m, or none',
    ])
  })
})

function item(name: string, dependsOn: string[] = []) {
  return { name, type: 'mock', config: { apiVersion: 'v1', kind: 'x' }, dependsOn }
}

function target(name: string) {
  return { name, namespace: 'demo' }
}

function byText(left: string, right: string): number {
  return left.localeCompare(right)
}

function decode(document: Record<string, unknown>) {
  const problems: string[] = []
  const items = decodeDeployItems(document, SCOPE, (path, problem) => problems.push(`${printPath(path)}: ${problem}`))
  return { items, problems: problems.sort(byText) }
}
