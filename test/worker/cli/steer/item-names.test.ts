import { describe, expect, it } from 'vitest'

import type { KubeObject } from '../../../../activities/kube/client.ts'
import { KubeError } from '../../../../activities/kube/errors.ts'
import { treeOf, nextJobText, findRoot } from '../../../../worker/cli/steer/live-tree.ts'
import { type CommandResult, steeredKinds, formatResults } from '../../../../worker/cli/steer/open-object.ts'
import { expectedItems, itemsBelow, findItems } from '../../../../worker/cli/steer/item-names.ts'

const API = 'landscaper.gardener.cloud/v1alpha1'
const kindOf = (name: string) => steeredKinds().find(({ kind }) => kind === name)!
const at = (kind: string, name: string, owner?: string, metadata: Partial<KubeObject['metadata']> = {}) => ({
  kind: kindOf(kind),
  object: {
    metadata: {
      name,
      namespace: 'ns',
      uid: `${kind}/${name}`,
      ...metadata,
      ...(owner !== undefined && { ownerReferences: [ownedBy(owner)] }),
    },
  } satisfies KubeObject,
})
function ownedBy(uid: string) {
  const [kind = '', name = ''] = uid.split('/')
  return { apiVersion: API, kind, name, uid, controller: true }
}
const item = (name: string, execution: string, called?: string) =>
  at('DeployItem', name, `Execution/${execution}`, {
    ...(called !== undefined && { labels: { 'execution.landscaper.gardener.cloud/name': called } }),
  })
const sub = (name: string, parent: string, called: string) =>
  at('Installation', name, `Installation/${parent}`, {
    annotations: { 'landscaper.gardener.cloud/subinstallation-name': called },
  })

const shop = at('Installation', 'shop')
const execution = at('Execution', 'shop', 'Installation/shop')
const all = [
  execution,
  item('shop-web-1', 'shop', 'web'),
  item('shop-db-1', 'shop', 'db'),
  item('shop-plain', 'shop'),
  sub('shop-back-1', 'shop', 'back'),
  at('Execution', 'shop-back-1', 'Installation/shop-back-1'),
  item('shop-back-1-db', 'shop-back-1', 'db'),
  sub('deep-1', 'shop-back-1', 'deep'),
  at('Execution', 'deep-1', 'Installation/deep-1'),
  item('deep-1-db', 'deep-1', 'db'),
  // Objects of another tree.
  at('Installation', 'other'),
  at('Execution', 'other', 'Installation/other'),
  item('other-x', 'other', 'x'),
]
const parts = itemsBelow(treeOf(shop, all), 'retry')
const namesOf = (found: readonly { readonly object: KubeObject }[]) => found.map(({ object }) => object.metadata.name)

describe('the items of an object', () => {
  it('have their blueprint names, with the names of sub-installations as prefix', () => {
    expect(parts.map(({ path: called, object }) => [called, object.metadata.name])).toEqual([
      ['db', 'shop-db-1'],
      ['shop-plain', 'shop-plain'],
      ['web', 'shop-web-1'],
      ['back/db', 'shop-back-1-db'],
      ['back/deep/db', 'deep-1-db'],
    ])
    const below = itemsBelow(treeOf(execution, all), 'skip')
    expect(below.map(({ path: called }) => called)).toEqual(['db', 'shop-plain', 'web'])
  })

  it('are found by these names, each once and in the given order', () => {
    expect(namesOf(findItems('it', parts, ['web', 'back/db', 'web']))).toEqual(['shop-web-1', 'shop-back-1-db'])
    expect(namesOf(findItems('it', parts, ['db']))).toEqual(['shop-db-1'])
  })

  it.each([
    ['deep', 'Installation ns/shop: item "deep" does not exist; expected db, shop-plain, web, back/db, back/deep/db'],
    ['deep/db', 'item "deep/db" does not exist; expected db, back/deep/db, shop-plain, web, back/db'],
    ['wbe', 'item "wbe" does not exist; did you mean "web"?'],
    ['', 'item "" does not exist; expected db, '],
  ])('are listed in the error for the unknown name %j', (name, message) => {
    expect(() => findItems('Installation ns/shop', parts, [name])).toThrow(message)
  })

  it('are listed with their objects if several have one name; long lists are truncated', () => {
    const twice = itemsBelow(treeOf(execution, [...all, item('shop-db-2', 'shop', 'db')]), 'retry')
    expect(() => findItems('it', twice, ['db'])).toThrow(
      'it: several items have the name "db"; name the object instead: deployitem/shop-db-1 or deployitem/shop-db-2',
    )
    const many = Array.from({ length: 23 }, (_, index) => item(`i-${index}`, 'shop', `i-${index}`))
    expect(expectedItems(itemsBelow(treeOf(execution, [execution, ...many]), 'retry'))).toMatch(/, \S+ and 15 more$/)
    expect(expectedItems([])).toBe('it has no items yet')
  })
})

type At = ReturnType<typeof at>

describe('the root of an item', () => {
  /** A cluster with these objects that answers other reads with the status. */
  const topIn = async (there: readonly At[], { object }: At, status = 404) => {
    const request = async <Answer>(_method: string, path: string): Promise<Answer> => {
      const found = there.find(({ kind, object: { metadata } }) =>
        path.endsWith(`/${kind.api.plural}/${metadata.name}`),
      )
      if (found === undefined) throw new KubeError(path, { status, reason: status === 403 ? 'Forbidden' : 'NotFound' })
      return await Promise.resolve(found.object as Answer)
    }
    return await findRoot({ kube: { request }, kinds: steeredKinds(), namespace: 'ns', object })
  }
  const deepest = item('deep-1-db', 'deep-1', 'db')

  it('is the object whose job updates the item', async () => {
    const text = 'the next job of installation "ns/shop": pawl reconcile installation/shop -n ns'
    expect(nextJobText(await topIn([shop, ...all], deepest))).toBe(text)
  })

  it('is an Execution without an owner', async () => {
    const text = 'the next job of execution "ns/alone"'
    expect(nextJobText(await topIn([at('Execution', 'alone')], item('x', 'alone')))).toBe(text)
  })

  it('is missing for an item without an owner, or whose owner is gone', async () => {
    expect(await topIn([shop], at('DeployItem', 'loose'))).toBeUndefined()
    const anew = at('Execution', 'shop', undefined, { uid: 'another' })
    expect(await topIn([anew], item('x', 'shop'))).toBeUndefined()
    expect(nextJobText(await topIn([], item('x', 'shop')))).toBe('the next job of its parent')
  })

  it('is the topmost readable ancestor; other errors are thrown', async () => {
    const seen = all.filter(({ kind }) => kind.kind === 'Execution')
    const text = 'the next job of execution "ns/deep-1"'
    expect(nextJobText(await topIn(seen, deepest, 403))).toBe(text)
    await expect(topIn(seen, deepest, 500)).rejects.toThrow('deep-1')
  })
})

describe('the output for several items', () => {
  const done = (name: string): CommandResult => ({ lines: [`${name} is done`], hints: ['go on'], data: { name } })
  const told = ['a', 'b'].map((name) => ({ target: { kind: kindOf('DeployItem'), name }, result: done(name) }))

  it('shows the result of each item, and each hint once', async () => {
    expect(await formatResults(told, 'text', true)).toBe('a is done\nb is done\ngo on\n')
    expect(await formatResults(told, 'name', true)).toBe(
      'deployitem.landscaper.gardener.cloud/a\ndeployitem.landscaper.gardener.cloud/b\n',
    )
  })

  it('is a JSON list, also for one result; for one item it is an object', async () => {
    expect(JSON.parse(await formatResults(told.slice(0, 1), 'json', true))).toEqual([{ name: 'a' }])
    expect(JSON.parse(await formatResults(told.slice(0, 1), 'json', false))).toEqual({ name: 'a' })
  })
})
