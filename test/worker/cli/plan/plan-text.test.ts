import { describe, expect, it } from 'vitest'

import { plainPaint } from '../../../../worker/cli/query/format.ts'
import { createPlan, exitCodeOf, objectKey } from '../../../../worker/cli/plan/create-plan.ts'
import { planText } from '../../../../worker/cli/plan/plan-text.ts'
import { median } from '../../../../worker/cli/plan/plan-files.ts'

const subject = { group: 'example.org', kind: 'Root', uid: 'u', namespace: 'n', name: 'shop' }
const object = (name: string, spec: object = {}, metadata: object = {}, kind = 'Item') => ({
  apiVersion: 'example.org/v1',
  kind,
  spec,
  metadata: { name, namespace: 'n', ...metadata },
})
const item = (name: string, level: number, uninstalls = false) => ({
  group: 'example.org',
  kind: 'Item',
  name: `shop-${name}`,
  item: name,
  type: 'mock',
  level,
  uninstalls,
})
const NOTHING = {
  applied: [],
  writes: [],
  jobs: [],
  works: [],
  secrets: [],
  incidental: [],
  concealed: {},
  internal: [],
  internalOfChildren: {},
  importers: [],
  idleRoots: [],
  unknownImporters: new Map(),
  unvalidated: [],
}

describe('a plan', () => {
  it('shows the order and state of items, and the expected duration', () => {
    const items = [item('db', 1), item('web', 2), item('old', 1, true)]
    const writes = [{ before: undefined, after: object('shop-db', { size: 1 }) }]
    const works = [{ name: 'shop-web', namespace: 'n', problem: 'no such image', writes: [] }]
    const plan = createPlan(
      { ...NOTHING, writes, works, jobs: [{ subject, end: 'succeeds', items, jobs: [] }] },
      [],
      new Map([
        [objectKey(subject), 61_000],
        [objectKey({ ...subject, kind: 'Part' }), 5000],
      ]),
    )
    expect(planText(plan, { paint: plainPaint, hasJournal: true, files: ['shop.yaml'] })).toBe(
      [
        'Fails: 1 job or item would fail. Changes: 1 new (0 unchanged)',
        '',
        'Root n/shop (about 1m1s)',
        '  1 + db mock',
        '    - old mock',
        '  2 = web mock fails: no such image',
        '',
        '+ Item n/shop-db',
        '    + spec.size: 1',
        '',
      ].join('\n'),
    )
    expect(exitCodeOf(plan)).toBe(1)
  })

  it('shows the changed lines of a long text, and the new Namespaces whose objects were not validated', () => {
    const text = (size: number) => ({ text: `a:\n  size: ${size}\n` })
    const writes = [{ before: object('shop', text(1)), after: object('shop', text(2)) }]
    const plan = createPlan({ ...NOTHING, writes, unvalidated: ['n'] }, [], new Map())
    expect(planText(plan, { paint: plainPaint, hasJournal: true, files: ['-'] })).toBe(
      [
        'Changes: 1 changed (0 unchanged)',
        '',
        '~ Item n/shop',
        '    ~ spec.text:',
        '       a:',
        '      -  size: 1',
        '      +  size: 2',
        '',
        'Namespace n does not exist yet: the API server did not validate the objects in it.',
        '',
      ].join('\n'),
    )
  })

  it('shows objects on Targets first, and bookkeeping only in the wide output', () => {
    const applied = [{ at: 'shop.yaml', object: object('shop', {}, {}, 'Root'), namespace: 'n' }]
    const root = { before: object('shop', { size: 1 }, {}, 'Root'), after: object('shop', { size: 2 }, {}, 'Root') }
    const copy = { before: object('copy', { hash: 1 }, {}, 'Copy'), after: object('copy', { hash: 2 }, {}, 'Copy') }
    const child = { before: undefined, after: object('shop-db', { size: 2 }) }
    const pod = (size: number) => object('db', { size }, { annotations: { 'example.org/hash': String(size) } }, 'Pod')
    const onTarget = [{ before: pod(1), after: pod(2) }]
    const plan = createPlan(
      {
        ...NOTHING,
        applied,
        writes: [root, child, copy],
        works: [{ name: 'shop-db', namespace: 'n', target: 'here', writes: onTarget }],
        jobs: [{ subject, end: 'succeeds', items: [item('db', 1)], jobs: [] }],
        internal: ['metadata.annotations.example.org/hash'],
        internalOfChildren: { Copy: ['spec'] },
      },
      [],
      new Map(),
    )
    const options = { paint: plainPaint, hasJournal: true, files: ['-'] }
    expect(planText(plan, options)).toBe(
      [
        'Changes: 1 new, 3 changed (0 unchanged)',
        '',
        'Root n/shop',
        '  1 + db mock',
        '',
        '~ Pod n/db on target here, by shop-db',
        '    - spec.size: 1',
        '    + spec.size: 2',
        '~ Root n/shop',
        '    - spec.size: 1',
        '    + spec.size: 2',
        "and 2 objects of Pawl's own; -o wide shows them",
        '',
      ].join('\n'),
    )
    const wide = planText(plan, { ...options, isWide: true })
    for (const line of ['+ Item n/shop-db', '~ Copy n/copy', '    + metadata.annotations.example.org/hash: "2"'])
      expect(wide.split('\n')).toContain(line)
  })

  it('names the objects outside of the files that import a changed object, and the command that starts their jobs', () => {
    const settings = (size: number) => object('settings', { size }, {}, 'Settings')
    const applied = ['settings', 'same', 'api'].map((name) => ({
      at: 'a.yaml',
      object: name === 'api' ? object('api', {}, {}, 'Root') : object(name, {}, {}, 'Settings'),
      namespace: 'n',
    }))
    const importer = (name: string, namespace: string, of = 'settings') => ({
      kind: 'Root',
      namespace,
      name,
      imports: [`Settings ${of}`],
    })
    const importers = [
      importer('web', 'n'),
      importer('api', 'n'),
      importer('web', 'other'),
      importer('old', 'n', 'same'),
    ]
    const same = object('same', {}, {}, 'Settings')
    const writes = [
      { before: settings(1), after: settings(2) },
      { before: same, after: same },
    ]
    const unknownImporters = new Map([['m', 'forbidden']])
    const idleRoots = ['api', 'unrelated'].map((name) => ({ kind: 'Root', namespace: 'n', name }))
    const preview = { ...NOTHING, applied, writes, importers, unknownImporters, idleRoots }
    const plan = createPlan(preview, [], new Map())
    expect(planText(plan, { paint: plainPaint, hasJournal: true, files: ['a.yaml'] })).toBe(
      [
        'Changes: 1 changed (1 unchanged)',
        '',
        '~ Settings n/settings',
        '    - spec.size: 1',
        '    + spec.size: 2',
        '    imported by Root n/web; add its manifest to see its changes',
        '',
        'Pawl cannot list the Installations in namespace m that import these objects: forbidden',
        'next: kubectl apply --server-side --force-conflicts -f a.yaml, then pawl reconcile root/api root/web -n n',
        '',
      ].join('\n'),
    )
  })

  it.each([
    ['its spec is new', { after: object('shop', {}, {}, 'Root') }, 'unchanged', true],
    ['its spec changes', { before: object('shop', { size: 1 }, {}, 'Root') }, 'unchanged', true],
    ['one of its items changes', {}, 'changed', true],
    ['only its labels change', { before: object('shop', {}, { labels: { a: 'b' } }, 'Root') }, 'unchanged', false],
  ] as const)('suggests to reconcile a root of the files if %s', (_, write, state, isSuggested) => {
    const root = object('shop', {}, {}, 'Root')
    const db = { before: object('shop-db'), after: object('shop-db', state === 'changed' ? { size: 2 } : {}) }
    const before = 'before' in write || 'after' in write ? undefined : root
    const plan = createPlan(
      {
        ...NOTHING,
        applied: [{ at: 'a.yaml', object: root, namespace: 'n' }],
        writes: [{ before, after: root, ...write }, db],
        idleRoots: [{ kind: 'Root', namespace: 'n', name: 'shop' }],
        jobs: [{ subject, end: 'succeeds', items: [item('db', 1)], jobs: [] }],
      },
      [],
      new Map(),
    )
    const text = planText(plan, { paint: plainPaint, hasJournal: true, files: ['a.yaml'] })
    expect(text.includes(', then pawl reconcile root/shop -n n\n')).toBe(isSuggested)
  })

  it('warns of a type that the user probably misspelt, and lists the types of Pawl', () => {
    const unhandled = (type: string) => ({ type, handled: ['example.org/manifest', 'example.org/mock'] })
    const work = (name: string, type: string) => ({ name, namespace: 'n', unhandled: unhandled(type), writes: [] })
    const works = [work('shop-db', 'example.org/mokc'), work('shop-web', 'example.com/theirs')]
    const jobs = [{ subject, end: 'succeeds' as const, items: [item('db', 1), item('web', 1)], jobs: [] }]
    const types = 'Pawl handles the types example.org/manifest, example.org/mock; another type needs its own deployer'
    const text = (plan: ReturnType<typeof createPlan>) =>
      planText(plan, { paint: plainPaint, hasJournal: true, files: ['-'] })
    const misspelt = `spec.type: Pawl has no deployer for type "example.org/mokc"; did you mean "example.org/mock"? ${types}`
    expect(text(createPlan({ ...NOTHING, works, jobs }, [], new Map()))).toBe(
      [
        'Warnings: 1. No changes (0 unchanged)',
        '',
        'Root n/shop',
        `  1 = db mock warning: ${misspelt}`,
        `  1 = web mock (spec.type: Pawl has no deployer for type "example.com/theirs"; ${types})`,
        '',
      ].join('\n'),
    )
    expect(text(createPlan({ ...NOTHING, works }, [], new Map()))).toContain(`! shop-db: warning: ${misspelt}`)
  })

  it('shows the state of an item although an object of another kind has the same name', () => {
    const other = { before: object('shop-db'), after: object('shop-db', {}, { deletionTimestamp: 'now' }, 'Secret') }
    const own = { before: object('shop-db'), after: object('shop-db', { size: 2 }) }
    const jobs = [{ subject, end: 'succeeds' as const, items: [item('db', 1)], jobs: [] }]
    for (const writes of [
      [own, other],
      [other, own],
    ])
      expect(createPlan({ ...NOTHING, writes, jobs }, [], new Map()).jobs[0]?.items[0]?.state).toBe('changed')
    expect(createPlan({ ...NOTHING, writes: [other], jobs }, [], new Map()).jobs[0]?.items[0]?.state).toBe('unchanged')
  })

  it.each([
    ['succeeds', [], 'Changes: 1 changed (0 unchanged)', /\n\nnext: kubectl apply .* -f a\.yaml,b\.yaml\n$/],
    ['fails', [], 'Fails: 1 job or item would fail. Changes: 1 changed (0 unchanged)', /^(?!.*next: )/s],
    [
      'succeeds',
      [{ at: 'a.yaml', object: { kind: 'Item', metadata: { name: 'x' } }, namespace: 'n', refused: 'no' }],
      'Fails: the API server rejects 1 object. Changes: 1 changed (0 unchanged)',
      /\n! a\.yaml: Item x: no\n/,
    ],
  ] as const)('begins with the answer: %s', (end, applied, first, rest) => {
    const writes = [{ before: object('shop-db'), after: object('shop-db', { size: 2 }) }]
    const plan = createPlan(
      { ...NOTHING, applied, writes, jobs: [{ subject, end, items: [], jobs: [] }] },
      [],
      new Map(),
    )
    const text = planText(plan, { paint: plainPaint, hasJournal: true, files: ['a.yaml', 'b.yaml'] })
    expect(text.split('\n')[0]).toBe(first)
    expect(text).toMatch(rest)
  })

  it('sets the exit code by whether something would change', () => {
    const same = { before: object('a'), after: object('a') }
    const leaving = { before: object('a'), after: object('a', {}, { deletionTimestamp: 'now' }) }
    const codeOf = (
      writes: readonly { readonly before: ReturnType<typeof object>; readonly after: ReturnType<typeof object> }[],
    ) => exitCodeOf(createPlan({ ...NOTHING, writes }, [], new Map()))
    expect([codeOf([]), codeOf([same]), codeOf([leaving])]).toEqual([0, 0, 3])
  })
})

describe('the expected duration of a job', () => {
  it('is the median of the latest successful jobs', () => {
    expect([median([5, 1, 9]), median([4, 2]), median([])]).toEqual([5, 2, undefined])
  })
})
