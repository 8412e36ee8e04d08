import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, it } from 'vitest'

import { kindFacts, readBoundKinds } from '../../../worker/gen/controller/kind-lookup.ts'
import {
  anyJson,
  defineKind,
  flag,
  list,
  mapOf,
  oneOf,
  path,
  record,
  required,
  text,
} from '../../../workflows/kit/index.ts'

const WORKFLOWS = join(import.meta.dirname, '../../../workflows')

const paint = defineKind({
  group: 'example.com',
  version: 'v1',
  kind: 'Paint',
  plural: 'paints',
  singular: 'paint',
  shortNames: [],
  statusSubresource: false,
  printerColumns: [],
  description: 'Paint.',
  schema: {
    spec: required(
      record('What.', {
        color: required(oneOf('Its colour.', ['red', 'blue'])),
        wet: flag('Whether it is.'),
        tags: mapOf('Any.', text('One.')),
        layers: list('Layers.', text('One.')),
        extra: anyJson('Anything.'),
      }),
    ),
  },
  projection: [],
  selectableFields: [path('spec.color')],
  workerVerbs: [],
})

describe('the schema of a kind', () => {
  const facts = kindFacts(paint)

  it.each([
    ['spec.color', 'text'],
    ['spec.wet', 'other'],
    ['spec', 'other'],
    ['spec.tags', 'other'],
    ['spec.tags.any', 'text'],
    ['spec.tags.any.more', undefined],
    ['spec.layers', 'other'],
    ['spec.layers.0', undefined],
    ['spec.extra', 'anything'],
    ['spec.extra.deep.er', 'anything'],
    ['spec.colour', undefined],
    ['spec.constructor', undefined],
    ['status', undefined],
  ])('has at %s the type %s', (field, expected) => {
    expect(facts.fieldAt(field.split('.'))).toBe(expected)
  })

  it('lists the fields below a path, and the selectable fields', () => {
    expect(facts.namesBelow([])).toEqual(['apiVersion', 'kind', 'spec'])
    expect(facts.namesBelow(['spec'])).toEqual(['color', 'wet', 'tags', 'layers', 'extra'])
    expect(facts.selectableFields).toEqual(['spec.color'])
  })
})

describe('the schema of a built-in kind of Kubernetes', () => {
  const lookup = async (groupVersion: string, kind: string) => {
    const target = { groupVersion, kind }
    return (await readBoundKinds({ modules: [], folder: WORKFLOWS, targets: [target] })).lookup(target)
  }

  it.each([
    ['apps/v1', 'Deployment', 'spec', 'other'],
    ['apps/v1', 'Deployment', 'spec.strategy.type', 'text'],
    ['apps/v1', 'Deployment', 'spec.strategy.rollingUpdate.maxSurge', 'anything'],
    ['apps/v1', 'Deployment', 'spec.template.metadata.labels.app', 'text'],
    ['apps/v1', 'Deployment', 'spec.template.spec.containers.0', undefined],
    ['apps/v1', 'Deployment', 'Spec.Replicas', undefined],
    ['apps/v1', 'Deployment', 'spec.constructor', undefined],
    ['apps/v9', 'Deployment', 'spec.replicas', 'unknown'],
    ['v1', 'Pod', 'spec.nodeName', 'text'],
    ['v1', 'ConfigMap', 'data.any', 'text'],
    ['v1', 'Event', 'involvedObject.name', 'text'],
    ['events.k8s.io/v1', 'Event', 'regarding.name', 'text'],
    ['autoscaling/v2', 'HorizontalPodAutoscaler', 'spec.scaleTargetRef.name', 'text'],
  ])('of the kind %s/%s has at %s the type %s', async (groupVersion, kind, field, expected) => {
    expect((await lookup(groupVersion, kind))?.fieldAt(field.split('.'))).toBe(expected)
  })

  it('lists the fields below a path, for suggestions', async () => {
    expect((await lookup('v1', 'ConfigMap'))?.namesBelow([])).toEqual(
      expect.arrayContaining(['binaryData', 'data', 'immutable']),
    )
  })
})

describe('the modules that a document binds', () => {
  const facts = async (modules: readonly string[], groupVersion: string, kind: string) =>
    (await readBoundKinds({ modules, folder: WORKFLOWS })).lookup({ groupVersion, kind })

  it('provide the kinds that they define, by group and version', async () => {
    const group = 'landscaper.gardener.cloud'
    const found = await facts(['./landscaper/execution/kind.ts'], `${group}/v1alpha1`, 'Execution')
    expect(found?.fieldAt(['spec', 'context'])).toBe('text')
    expect(await facts(['./landscaper/execution/kind.ts'], `${group}/v1`, 'Execution')).toBeUndefined()
  })

  it("are not needed for Kubernetes' built-in kinds", async () => {
    expect((await facts([], 'v1', 'Pod'))?.selectableFields).toContain('spec.nodeName')
    expect((await facts([], 'batch/v1', 'Job'))?.selectableFields).toEqual(['status.successful'])
    expect((await facts([], 'v1', 'ConfigMap'))?.selectableFields).toEqual([])
    expect((await facts([], 'v1', 'Node'))?.isNamespaced).toBe(false)
    expect(await facts([], 'gateway.networking.k8s.io/v1', 'Gateway')).toBeUndefined()
  })

  it('are listed with the reason if they cannot be loaded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-bound-'))
    await writeFile(join(folder, 'throws.ts'), "throw new Error('no\\nway')\n")
    const { unread } = await readBoundKinds({
      modules: ['./none.ts', './throws.ts', 'a-package', './none.ts'],
      folder,
    })
    expect(unread.map(({ module }) => module)).toEqual(['./none.ts', './throws.ts'])
    expect(unread[1]?.reason).toBe('no')
    await rm(folder, { recursive: true })
  })
})
