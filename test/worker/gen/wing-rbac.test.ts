import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

import {
  defineKind,
  defineLevel,
  type JsonValue,
  type LevelDefinition,
  nop,
  record,
} from '../../../workflows/kit/index.ts'
import { installationController } from '../../../workflows/landscaper/installation/controller.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import { gen } from '../../../worker/gen.ts'
import { rolesOf } from '../../../worker/gen/level-roles.ts'
import { genNew } from '../../../worker/gen/new-kind.ts'
import { roleFiles } from '../../../worker/gen/rbac.ts'
import { rightsOfWing, type WingParts } from '../../../worker/gen/wing-rbac.ts'

interface Role {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[]
}

const shopKind = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Shop',
  plural: 'shops',
  singular: 'shop',
  shortNames: [],
  statusSubresource: true,
  printerColumns: [],
  description: 'Sells.',
  projection: [],
  workerVerbs: [],
  schema: { spec: record('What it is.', {}) },
})

function shop(change: Partial<LevelDefinition<Record<string, unknown>, unknown>> = {}): WingParts {
  const controller = defineLevel({ name: 'shop', target: shopKind, queries: {}, plan: nop, ...change })
  return { kinds: [shopKind], controllers: [controller], workerRules: [] }
}

const rightsOf = ({ rules }: Role) =>
  rules.flatMap(({ apiGroups: [group = ''], resources, verbs }) =>
    resources.map((resource) => `${resource}${group === '' ? '' : `.${group}`}: ${verbs.join(' ')}`),
  )

/** The rights in the files of a wing. */
function shipped(parts: WingParts) {
  const files = new Map(roleFiles('deploy/rbac', new Map([['fair', parts]])))
  const [bridge = [], worker = []] = ['bridge', 'worker'].map((process) =>
    rightsOf(parse(files.get(`deploy/rbac/fair/${process}.yaml`) ?? '') as Role),
  )
  return { bridge, worker }
}

describe('the webhook role of a wing', () => {
  it('exists only if the wing declares rules for its webhook', () => {
    const webhookRules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }]
    const file = (parts: WingParts) =>
      new Map(roleFiles('deploy/rbac', new Map([['fair', parts]]))).get('deploy/rbac/fair/webhook.yaml')
    expect(file(shop())).toBeUndefined()
    const role = parse(file({ ...shop(), webhookRules }) ?? '') as Role
    expect([role.metadata.name, ...rightsOf(role)]).toEqual(['pawl-webhook-fair', 'configmaps: get'])
    expect(shipped({ ...shop(), webhookRules })).toEqual(shipped(shop()))
  })
})

describe('the shipped roles', () => {
  it('allow the bridge to list and watch, and to write only LsHealthChecks', async () => {
    const folder = fileURLToPath(new URL('../../../deploy/rbac/', import.meta.url))
    const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('bridge.yaml'))
    expect(files).not.toEqual([])
    for (const file of files) {
      const roles = parseAllDocuments(await readFile(join(folder, file), 'utf8')).map((one) => one.toJSON() as Role)
      const writes = roles
        .flatMap(({ rules }) => rules)
        .filter(({ verbs }) => verbs.some((verb) => verb !== 'list' && verb !== 'watch'))
      expect(writes.flatMap(({ resources }) => resources)).toEqual(
        file.startsWith('landscaper/') ? ['lshealthchecks'] : [],
      )
    }
  })
})

describe('the roles of a wing', () => {
  it('merge the rules of its kinds, its wing.ts and its controllers', () => {
    const workerRules = [
      { apiGroups: [''], resources: ['configmaps', 'pods'], verbs: ['deletecollection', 'list', 'get'] },
    ]
    const kinds = [{ ...shopKind, workerVerbs: ['list', 'patch'] as const }]
    // The common role of all workers has the permission for Events.
    expect(shipped({ ...shop({ writes: ['v1/ConfigMap'] }), kinds, workerRules }).worker).toEqual([
      ...['shops.example.com: get list patch', 'shops/status.example.com: patch'],
      ...['shops/finalizers.example.com: update', 'configmaps: get list create patch delete deletecollection'],
      'pods: get list deletecollection',
    ])
  })

  it('allow the bridge to watch the kinds that job-mode controllers watch, and no other kinds', () => {
    const kinds = [installationKind, targetKind]
    expect(shipped({ kinds, controllers: [installationController], workerRules: [] }).bridge).toEqual([
      'installations.landscaper.gardener.cloud: list watch',
    ])
  })

  it('cover the namespace of the default settings, or all namespaces if the namespace is unknown', () => {
    const namespaces = (of: string, usualSettings?: JsonValue) => {
      const parts = shop({ writes: [{ kind: 'v1/Pod', namespaces: [of] }] })
      const rights = rightsOfWing({ ...parts, ...(usualSettings !== undefined && { usualSettings }) })
      const text = rolesOf(rights, { name: 'fair', namespaces: ['a'], accounts: undefined })
      const roles = parseAllDocuments(text).map((one) => one.toJS() as Role)
      return [...new Set(roles.map(({ metadata }) => metadata.namespace ?? '*'))].sort()
    }
    const template = '${target.status.place ?? settings.place}'
    expect(namespaces(template, { place: 'x' })).toEqual(['a', 'x'])
    expect(namespaces(template)).toEqual(['*', 'a'])
    expect(namespaces('${target.spec.place}', { place: 'x' })).toEqual(['*', 'a'])
  })

  it('cover the given namespaces and the namespaces that its controllers name', () => {
    const cityKind = defineKind({ ...shopKind, kind: 'City', plural: 'cities', scope: 'Cluster', workerVerbs: ['get'] })
    const parts = shop({ writes: [{ kind: 'v1/Pod', namespaces: ['x'] }] })
    const rights = rightsOfWing({ ...parts, kinds: [shopKind, cityKind] })
    const text = rolesOf(rights, { name: 'fair', namespaces: ['a'], accounts: undefined })
    const roles = parseAllDocuments(text).map((one) => one.toJS() as Role)
    expect(
      Object.fromEntries(
        roles.map((role) => [`${role.metadata.namespace ?? '*'} ${role.metadata.name}`, rightsOf(role)]),
      ),
    ).toEqual({
      'a pawl-bridge-fair': ['shops.example.com: list watch', 'pods: list watch'],
      'x pawl-bridge-fair': ['pods: list watch'],
      '* pawl-worker-fair': ['cities.example.com: get'],
      'a pawl-worker-fair': [
        ...['shops.example.com: get', 'shops/status.example.com: patch', 'shops/finalizers.example.com: update'],
        ...['pods: get create patch delete', 'events: create'],
      ],
      'x pawl-worker-fair': ['pods: get create patch delete'],
    })
  })
})

describe('pawl gen after an edit of a document', () => {
  it('generates the roles from the edited document', async () => {
    const root = await mkdtemp(join(tmpdir(), 'pawl-wing-rbac-'))
    const silent = { print: () => undefined, complain: (line: string) => expect.fail(line) }
    const kit = 'workflows/kit'
    await cp(join(import.meta.dirname, '../../..', kit), join(root, kit), { recursive: true })
    await genNew({ root, layout: 'checkout', kind: 'Stall', group: 'example.com', wing: 'fair', ...silent })
    const path = join(root, 'workflows/fair/stall/controller.cm')
    const text = await readFile(path, 'utf8')
    await writeFile(
      path,
      text
        .replace('alias', 'alias Pod v1/Pod\nalias')
        .replace('  state {', '  state {\n    pods []Pod { labels/app=stall }')
        .replace('ApplyConfigMap(', 'ApplyConfigMap(pods, '),
    )
    expect(await gen({ root, check: false, ...silent })).toBe(0)
    const rights = async (process: string) =>
      rightsOf(parse(await readFile(join(root, `deploy/rbac/fair/${process}.yaml`), 'utf8')) as Role)
    expect(await rights('bridge')).toContain('pods: list watch')
    expect(await rights('worker')).toEqual(expect.arrayContaining(['pods: list', 'stalls.example.com: get']))
    await rm(root, { recursive: true })
  })
})
