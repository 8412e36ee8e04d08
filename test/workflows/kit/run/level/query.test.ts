import { describe, expect, it } from 'vitest'

import { narrowSelections, selectionOf, selectionsOf, type StateQuery } from '../../../../../workflows/kit/index.ts'

const target = {
  metadata: { name: 'shop', namespace: 'ns', labels: { 'app.kubernetes.io/team': 'red' } },
  spec: { ref: 'db', bad: 'a,b=c', up: '..', slash: '../secrets', empty: '', count: 3 },
}
const everything = { namespace: 'ns', name: undefined, labelSelector: '', fieldSelector: '', controller: undefined }
const select = (query: Omit<StateQuery, 'kind'>) => selectionOf({ kind: 'v1/Pod', ...query }, target)

describe('a query', () => {
  it('reads the namespace of its target, or its own', () => {
    expect(select({ many: true })).toEqual(everything)
    expect(select({ many: true, namespace: 'kube-system' })).toEqual({ ...everything, namespace: 'kube-system' })
    expect(selectionOf({ kind: 'v1/Node', many: true }, { metadata: { name: 'a' } })).toEqual({
      ...everything,
      namespace: undefined,
    })
  })

  it('fills its templates with texts of the target, also with labels whose keys contain dots', () => {
    expect(select({ name: '${target.spec.ref}-${target.metadata.name}-x' })?.name).toBe('db-shop-x')
    const labels = { app: '${target.metadata.name}', team: '${target.metadata.labels.app.kubernetes.io/team}' }
    expect(select({ labels })?.labelSelector).toBe('app=shop,team=red')
    expect(select({ controller: '${target.spec.ref}' })?.controller).toBe('db')
  })

  it.each(['${target.spec.missing}', 'x-${target.spec.count}', '${target.spec.ref.deeper}'])(
    'selects nothing when its target has no text for %s',
    (template) => {
      expect(select({ name: template })).toBeUndefined()
      expect(select({ labels: { app: template } })).toBeUndefined()
      expect(select({ fields: { 'metadata.name': template } })).toBeUndefined()
    },
  )

  it('fills its templates with settings of the wing, and uses the first non-empty text', () => {
    const settings = { pods: { namespace: 'told', none: '', no: null } }
    const place = (namespace: string) => selectionOf({ kind: 'v1/Pod', many: true, namespace }, target, settings)
    expect(place('${settings.pods.namespace}')?.namespace).toBe('told')
    expect(place('${target.spec.ref ?? settings.pods.namespace}')?.namespace).toBe('db')
    expect(place('${target.spec.missing ?? settings.pods.namespace}')?.namespace).toBe('told')
    expect(place('${target.spec.empty ?? settings.pods.namespace}')?.namespace).toBe('told')
    for (const nothing of ['settings.pods.missing', 'settings.pods.no', 'target.spec.empty ?? settings.pods.none'])
      expect(place(`\${${nothing}}`)).toBeUndefined()
    expect(select({ namespace: '${settings.pods.namespace}' })).toBeUndefined()
  })

  it('selects nothing for a text that would change the path of the request', () => {
    for (const field of ['up', 'slash', 'empty', 'bad']) {
      expect(select({ name: `\${target.spec.${field}}` })).toBeUndefined()
    }
    expect(select({ namespace: '${target.spec.up}' })).toBeUndefined()
    expect(select({ labels: { app: '${target.spec.bad}' } })).toBeUndefined()
    expect(select({ labels: { app: '${target.spec.empty}' } })?.labelSelector).toBe('app=')
  })

  it('can select by a field that has another value', () => {
    const fields = { type: 'Warning', 'source!': 'our-own' }
    expect(select({ fields })?.fieldSelector).toBe('type=Warning,source!=our-own')
  })

  it('escapes separators in field selectors', () => {
    expect(select({ fields: { 'spec.nodeName': '${target.spec.bad}' } })?.fieldSelector).toBe('spec.nodeName=a\\,b\\=c')
  })
})

describe('the selection of a query by its target', () => {
  const chooser = {
    metadata: { name: 'one', namespace: 'ns' },
    spec: {
      level: 'pod',
      still: true,
      selector: { app: 'web' },
      advanced: [{ key: 'tier', operator: 'In', values: ['a', 'b'] }],
      none: {},
      wrong: [{ key: 'tier', operator: 'Near', values: ['a'] }],
    },
    status: { targets: ['a', 'b', '../c', 'a', 4] },
  }
  const selectorOf = (labelsFrom: StateQuery['labelsFrom']) =>
    selectionOf({ kind: 'v1/Pod', many: true, ...(labelsFrom && { labelsFrom }) }, chooser)?.labelSelector

  it('supports lists of expressions, and combines several selectors without the empty ones', () => {
    expect(selectorOf('spec.advanced')).toBe('tier in (a,b)')
    expect(selectorOf(['spec.selector', 'spec.advanced'])).toBe('app=web,tier in (a,b)')
    expect(selectorOf(['spec.selector', 'spec.none', 'spec.missing'])).toBe('app=web')
    expect(selectorOf(['spec.none', 'spec.missing'])).toBeUndefined()
    expect(selectorOf(['spec.selector', 'spec.wrong'])).toBeUndefined()
  })

  it('contains the objects with the listed names', () => {
    const named = selectionsOf({ kind: 'v1/Pod', many: true, namesFrom: 'status.targets' }, chooser)
    expect(named.map(({ namespace, name }) => [namespace, name])).toEqual([
      ['ns', 'a'],
      ['ns', 'b'],
    ])
    expect(selectionsOf({ kind: 'v1/Pod', many: true, namesFrom: 'status.missing' }, chooser)).toEqual([])
  })

  it('contains the objects with the listed values of a field, one request each', () => {
    const events: StateQuery = { kind: 'v1/Event', many: true, fields: { type: 'Warning' } }
    const about = { ...events, fieldsFrom: { 'involvedObject.name': 'status.targets' } }
    const found = selectionsOf(about, chooser)
    expect(found.map(({ fieldSelector, fromFields }) => [fieldSelector, fromFields])).toEqual([
      ['type=Warning,involvedObject.name=a', { 'involvedObject.name': 'a' }],
      ['type=Warning,involvedObject.name=b', { 'involvedObject.name': 'b' }],
      ['type=Warning,involvedObject.name=../c', { 'involvedObject.name': '../c' }],
    ])
    expect(selectionsOf({ ...about, fieldsFrom: { 'involvedObject.name': 'status.missing' } }, chooser)).toEqual([])
  })

  it('is empty where the target has another text than `onlyIf`; an absent text is empty', () => {
    const found = (onlyIf: StateQuery['onlyIf']) =>
      selectionsOf({ kind: 'v1/Pod', many: true, ...(onlyIf && { onlyIf }) }, chooser).length
    expect(found({ 'spec.level': ['', 'pod'] })).toBe(1)
    expect(found({ 'spec.level': ['node'] })).toBe(0)
    expect(found({ 'spec.missing': [''] })).toBe(1)
    expect(found({ 'spec.missing': [''], 'spec.level': ['node'] })).toBe(0)
    expect(found({ 'spec.still': ['', 'false'] })).toBe(0)
    expect(found({ 'spec.still': ['true'] })).toBe(1)
  })

  it('can be narrowed to names and label values, and ignores invalid ones', () => {
    const all = selectionsOf({ kind: 'v1/Pod', many: true, labelsFrom: 'spec.selector' }, chooser)
    expect(narrowSelections(all, {})).toEqual(all)
    expect(narrowSelections(all, { names: ['a', '../b', 'a'] })).toEqual([{ ...all[0], name: 'a' }])
    const labels = { 'example.com/of': ['x', 'y,z', 'w'] }
    expect(narrowSelections(all, { labels })[0]?.labelSelector).toBe('app=web,example.com/of in (x,w)')
    expect(narrowSelections(all, { labels: { 'example.com/of': [] } })).toEqual([])
    const fields = { 'involvedObject.name': ['a', 'b,c=d', 'a'] }
    expect(narrowSelections(all, { fields }).map(({ fieldSelector }) => fieldSelector)).toEqual([
      'involvedObject.name=a',
      'involvedObject.name=b\\,c\\=d',
    ])
    const selected = [{ ...everything, fieldSelector: 'type=Warning' }]
    expect(narrowSelections(selected, { fields: { reason: ['BackOff'] } })[0]?.fieldSelector).toBe(
      'type=Warning,reason=BackOff',
    )
    expect(narrowSelections(all, { fields: { reason: [] } })).toEqual([])
  })
})

describe('the namespaces and selectors of a query', () => {
  const chooser = {
    metadata: { name: 'shop', namespace: 'ns', uid: 'uid-shop' },
    spec: { selector: { matchLabels: { app: 'web' } }, namespaces: ['a', 'b', 'a', '../c', 3], one: 'd', all: '*' },
  }
  const namespacesOf = (query: Omit<StateQuery, 'kind'>) =>
    selectionsOf({ kind: 'v1/Pod', ...query }, chooser).map(({ namespace }) => namespace)

  it('are all namespaces if the query says so, but not if the target does', () => {
    expect(namespacesOf({ namespace: '*' })).toEqual([undefined])
    expect(namespacesOf({ namespace: '${target.spec.all}' })).toEqual([])
  })

  it('are the namespaces in the target, each once', () => {
    expect(namespacesOf({ namespacesFrom: 'spec.namespaces' })).toEqual(['a', 'b'])
    expect(namespacesOf({ namespacesFrom: 'spec.one' })).toEqual(['d'])
    expect(namespacesOf({ namespacesFrom: 'spec.missing' })).toEqual([])
    expect(namespacesOf({ namespacesFrom: 'spec.all' })).toEqual([])
  })

  it("combine the target's selector with the query's labels and the ownership label", () => {
    const query = { kind: 'v1/Pod', labels: { tier: 'front' }, labelsFrom: 'spec.selector', owned: 'label' } as const
    expect(selectionOf(query, chooser)?.labelSelector).toBe('tier=front,app=web,pawl.dev/owner-uid=uid-shop')
    expect(selectionOf({ kind: 'v1/Pod', labelsFrom: 'spec.missing' }, chooser)).toBeUndefined()
  })
})
