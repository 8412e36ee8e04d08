import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { crdYaml } from '../../../worker/gen/crd.ts'
import { gen } from '../../../worker/gen.ts'
import { defineKind, path, record, text } from '../../../workflows/kit/index.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'

const ROOT = join(import.meta.dirname, '../../..')

const CONTROLLER = `bind landscaper.gardener.cloud/v1alpha1 ./kind.ts
alias Target landscaper.gardener.cloud/v1alpha1/Target
decl Target for Target {
  state {
    others []Target { owned labels/type=\${target.spec.type} }
  }
  action { Look(others) }
}
`

describe('the generated files of this checkout', () => {
  it('are up to date', async () => {
    const { code, lines } = await run(ROOT, true)
    expect(lines).toEqual([])
    expect(code).toBe(0)
  })
})

describe('pawl gen in a checkout with two kinds', () => {
  let root: string

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'pawl-gen-'))
    for (const folder of ['kit', 'landscaper/contract.ts', 'landscaper/target', 'landscaper/data-object']) {
      await cp(join(ROOT, 'workflows', folder), join(root, 'workflows', folder), { recursive: true })
    }
    // Its rules need the wing.ts, which says what the configuration is called.
    await rm(join(root, 'workflows/landscaper/target/admission.ts'))
  })

  afterEach(() => rm(root, { recursive: true }))

  it('writes nothing in check mode, then each file once, and no temporary file', async () => {
    expect(await run(root, true)).toMatchObject({ code: 1 })
    expect(await readdir(root)).toEqual(['workflows'])
    expect(await run(root, false)).toMatchObject({ code: 0 })
    for (const check of [true, false]) expect(await run(root, check)).toEqual({ code: 0, lines: [] })
    expect(await readdir(join(root, 'deploy/crds/landscaper'))).toEqual([
      ...['landscaper.gardener.cloud_dataobjects.yaml', 'landscaper.gardener.cloud_targets.yaml'],
    ])
    expect((await readdir(join(root, 'deploy/rbac'), { recursive: true })).sort()).toEqual([
      ...['api.yaml', 'landscaper', 'landscaper/bridge.yaml', 'landscaper/worker.yaml', 'worker.yaml'],
    ])
  })

  it('reports the changed line of a manually edited file', async () => {
    await run(root, false)
    const path = join(root, 'deploy/crds/landscaper/landscaper.gardener.cloud_targets.yaml')
    await writeFile(path, (await readFile(path, 'utf8')).replace('  scope: Namespaced', '  scope: Cluster'))
    expect((await run(root, true)).lines).toEqual([
      'stale: deploy/crds/landscaper/landscaper.gardener.cloud_targets.yaml: line 16 is "scope: Cluster"; expected "scope: Namespaced"',
      `--- deploy/crds/landscaper/landscaper.gardener.cloud_targets.yaml
+++ deploy/crds/landscaper/landscaper.gardener.cloud_targets.yaml (generated)
@@ -13,7 +13,7 @@
     shortNames:
       - tgt
       - tg
-  scope: Cluster
+  scope: Namespaced
   versions:
     - name: v1alpha1
       served: true`,
      'run `pawl gen` and commit the result',
    ])
  })

  it('removes the CRD of a deleted kind, and the folders of a deleted wing', async () => {
    await run(root, false)
    const unwanted = async (folder: string, path: string) => {
      await rm(join(root, folder), { recursive: true })
      expect((await run(root, true)).lines).toContain(`unwanted: ${path}: no kind asks for it`)
      await run(root, false)
    }
    await unwanted('workflows/landscaper/target', 'deploy/crds/landscaper/landscaper.gardener.cloud_targets.yaml')
    expect(await readdir(join(root, 'deploy/crds/landscaper'))).toEqual(['landscaper.gardener.cloud_dataobjects.yaml'])
    await unwanted('workflows/landscaper', 'deploy/rbac/landscaper/worker.yaml')
    expect(await readdir(join(root, 'deploy/crds'))).toEqual([])
    expect(await readdir(join(root, 'deploy/rbac'))).toEqual(['api.yaml', 'worker.yaml'])
    expect(await run(root, true)).toEqual({ code: 0, lines: [] })
  })

  it('writes the module of each controller next to its document', async () => {
    const folder = join(root, 'workflows/landscaper/target')
    await writeFile(join(folder, 'controller.cm'), CONTROLLER)
    expect((await run(root, false)).lines).toContain('wrote workflows/landscaper/target/controller.gen.ts')
    const module = await readFile(join(folder, 'controller.gen.ts'), 'utf8')
    expect(module).toContain("} from '../../kit/index.ts'\nimport type { Target } from './kind.ts'\n")
    await writeFile(join(folder, 'controller.gen.ts'), module.replace('owned: true', 'owned: false'))
    const { code, lines } = await run(root, true)
    expect(code).toBe(1)
    expect(lines.join('\n')).toMatch(
      /^stale: workflows\/landscaper\/target\/controller\.gen\.ts: [^]*\n-.*owned: false[^]*\n\+.*owned: true/,
    )
  })

  it('writes nothing if the document of a controller has an error, and reports the error', async () => {
    await writeFile(
      join(root, 'workflows/landscaper/target/controller.cm'),
      CONTROLLER.replace('spec.type', 'spec.tipe'),
    )
    const { code, lines } = await run(root, false)
    expect(code).toBe(2)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(
      "workflows/landscaper/target/controller.cm:5:41: error CM041: Target has no field 'spec.tipe'; did you mean 'spec.type'?",
    )
    expect(await readdir(root)).toEqual(['workflows'])
  })

  it('exports the workflows of each folder by name', async () => {
    await mkdir(join(root, 'workflows/animals/zebra'), { recursive: true })
    await writeFile(
      join(root, 'workflows/animals/zebra/workflow.ts'),
      'export async function zebraJob() {}\nexport type No = 1\nfunction hidden() {}\n',
    )
    await run(root, false)
    expect(await readFile(join(root, 'workflows/index.ts'), 'utf8')).toContain(
      "export { zebraJob } from './animals/zebra/workflow.ts'\n",
    )
  })
})

describe('a generated CRD', () => {
  it('lists the selectable fields of the kind', () => {
    const kind = defineKind({
      ...targetKind,
      schema: { spec: record('What.', { color: text('Its colour.') }) },
      projection: [],
      selectableFields: [path('spec.color')],
    })
    expect((parse(crdYaml(kind, 'paint')) as Crd).spec.versions[0]).toMatchObject({
      selectableFields: [{ jsonPath: '.spec.color' }],
    })
    expect(() => defineKind({ ...kind, selectableFields: [path('spec.colour')] })).toThrow(
      'kind Target selects by spec.colour; expected a path of its schema',
    )
  })

  it('has names, a status subresource, and a description of every field', async () => {
    const crds = await generatedCrds()
    expect(crds.length).toBeGreaterThan(10)
    expect(crds.flatMap(({ spec }) => undescribed(spec.versions[0].schema.openAPIV3Schema, spec.names.kind))).toEqual(
      [],
    )
    const execution = crds.find(({ spec }) => spec.names.kind === 'Execution')
    expect(execution).toMatchObject({
      metadata: { name: 'executions.landscaper.gardener.cloud' },
      spec: {
        names: { listKind: 'ExecutionList', plural: 'executions', singular: 'execution', shortNames: ['exec'] },
        versions: [{ name: 'v1alpha1', served: true, storage: true, subresources: { status: {} } }],
      },
    })
  })

  it('has unique short names and plurals', async () => {
    const names = (await generatedCrds()).flatMap(({ spec }) => [spec.names.plural, ...(spec.names.shortNames ?? [])])
    expect(new Set(names).size).toBe(names.length)
  })
})

interface Crd {
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string; readonly shortNames?: readonly string[] }
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }]
  }
}

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
}

async function run(root: string, check: boolean): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = []
  const code = await gen({ root, check, print: (line) => lines.push(line), complain: (line) => lines.push(line) })
  return { code, lines }
}

async function generatedCrds(): Promise<Crd[]> {
  const folder = join(ROOT, 'deploy/crds/landscaper')
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return texts.map((text) => parse(text) as Crd)
}

// metadata is described by the API server itself.
function undescribed(schema: Schema, at: string): string[] {
  const children = [
    ...Object.entries(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [['[]', schema.items] as const]),
    ...(schema.additionalProperties === undefined ? [] : [['*', schema.additionalProperties] as const]),
  ]
  const below = children
    .filter(([name]) => name !== 'metadata')
    .flatMap(([name, child]) => undescribed(child, `${at}.${name}`))
  return schema.description === undefined ? [at, ...below] : below
}
