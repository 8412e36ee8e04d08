// The golden cases in golden/: for each function of templates and each construct of executions and mappings, what goes in and what comes out.
// Source: spec/landscaper.md 3.3-3.9.

import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { resolveComponents } from '../../../../activities/landscaper/components/resolve-components.ts'
import { readDefinition } from '../../../../activities/landscaper/render/blueprint/blueprint-definition.ts'
import type { Blueprint } from '../../../../activities/landscaper/render/blueprint/blueprint.ts'
import { renderDeployItems, renderExports } from '../../../../activities/landscaper/render/executions.ts'
import { finishExports } from '../../../../activities/landscaper/render/exports.ts'
import { constructImports, type TargetImport } from '../../../../activities/landscaper/render/imports.ts'
import { renderSubinstallations } from '../../../../activities/landscaper/render/subinstallations.ts'
import { createTemplateEngine } from '../../../../activities/landscaper/render/engine/template-engine.ts'
import { noRegistries } from '../../../support/registries/component-registry.ts'
import { data } from '../tenant-data.ts'

type Fields = Readonly<Record<string, unknown>>

interface Case {
  readonly name: string
  /** An action of a Go template, or an expression of Spiff: short for an import execution that binds it as `it`. */
  readonly go?: string
  readonly spiff?: string
  readonly run?: keyof typeof RUNS
  /** What blueprint.yaml says, and the other files. */
  readonly blueprint?: Fields
  readonly files?: Readonly<Record<string, string>>
  /** The component that the blueprint is of: a folder of golden/components/. */
  readonly component?: string
  readonly data?: Fields
  /** Names of Targets: one, a list, or a map. */
  readonly targets?: Readonly<Record<string, string | readonly string[] | Readonly<Record<string, string>>>>
  readonly importMappings?: Fields
  readonly exportMappings?: Fields
  readonly states?: Fields
  readonly deployitems?: Fields
  readonly dataobjects?: Fields
  readonly targetobjects?: Fields
  readonly requested?: readonly string[]
  /** The one field of each element, or the only fields of the result, that the expectation is about. */
  readonly show?: string
  readonly only?: readonly string[]
  readonly expect?: unknown
  readonly keeps?: Fields
  /** Words of the message. */
  readonly fails?: string
}

const FOLDER = new URL('golden/', import.meta.url)
const FILES = readdirSync(FOLDER).filter((file) => file.endsWith('.yaml'))
const casesOf = (file: string) => parse(readFileSync(new URL(file, FOLDER), 'utf8')) as readonly Case[]
const FUNCTION_FILES: Readonly<Record<string, string>> = {
  'data/list.yaml': '- oak\n- ash\n',
  'data/deep/more.txt': '',
  'parts/name.tpl': 'tree {{ .name }}',
  'parts/twice.tpl': '{{ include "parts/name.tpl" . }} {{ include "/parts/name.tpl" . }}',
  'parts/defined.tpl': '{{ define "own" }}<{{ . }}>{{ end }}{{ template "own" . }}',
  'parts/loop.tpl': '{{ include "parts/loop.tpl" . }}',
  'parts/names.tpl': '{{ range . }}{{ .Name }}{{ if .IsDir }}/{{ end }} {{ end }}',
}

const engine = { ...createTemplateEngine({ threads: 1, timeoutMs: 20_000 }), data }
afterAll(() => engine.close())

const RUNS = {
  imports: async (one: Case) => ({ result: (await setUp(one)).imports.bindings, states: {} }),
  items: async (one: Case) => {
    const { blueprint, imports, common } = await setUp(one)
    const bound = { ...common, namespace: 'demo', targets: imports.targets }
    const { items, states } = await renderDeployItems(engine, blueprint, bound)
    return { result: items, states }
  },
  subs: async (one: Case) => {
    const { blueprint, imports, common } = await setUp(one)
    const { templates, states } = await renderSubinstallations(engine, blueprint, common, imports)
    return { result: templates, states }
  },
  exports: async (one: Case) => {
    const { blueprint, common } = await setUp(one)
    const { deployitems = {}, dataobjects = {}, targetobjects = {}, exportMappings = {}, requested = [] } = one
    const bound = { ...common, deployitems, dataobjects, targets: targetobjects }
    const { exports: produced, states } = await renderExports(engine, blueprint, bound)
    return { result: await finishExports(engine, blueprint, { produced, mappings: exportMappings, requested }), states }
  },
}

const BLUEPRINT_SPEC = { inline: { mark: 'golden' } }

async function setUp(one: Case) {
  const blueprint = await blueprintOf(one)
  const given = Object.entries(one.targets ?? {}).map(([name, value]): [string, TargetImport] => [name, shapeOf(value)])
  const loaded = { data: one.data ?? {}, targets: Object.fromEntries(given) }
  const input = { blueprintSpec: BLUEPRINT_SPEC, loaded, mappings: one.importMappings ?? {} }
  const imports = await constructImports(engine, blueprint, input)
  const common = {
    blueprint: BLUEPRINT_SPEC,
    imports: imports.bindings,
    ...(one.states !== undefined && { states: one.states }),
  }
  return { blueprint, imports, common }
}

async function blueprintOf({ blueprint = {}, files = {}, component }: Case): Promise<Blueprint> {
  const read = { ...readDefinition(JSON.stringify(blueprint)), files }
  if (component === undefined) return read
  const ref = {
    repositoryContext: { type: 'local', filePath: '.' },
    componentName: `example.org/${component}`,
    version: '1.0.0',
  }
  const source = { definition: { ref }, repositoryContext: undefined, context: 'default' }
  const where = { registryFolder: new URL('components', FOLDER).pathname, registries: noRegistries }
  return { ...read, component: await resolveComponents(data, { ...source, ...where }) }
}

function shapeOf(value: NonNullable<Case['targets']>[string]): TargetImport {
  const target = (name: string) => ({
    metadata: { name, namespace: 'demo' },
    spec: { type: 'example.org/field', config: { of: name } },
  })
  if (typeof value === 'string') return { target: target(value) }
  if (Array.isArray(value)) return { list: value.map((name: string) => target(name)) }
  return { map: Object.fromEntries(Object.entries(value).map(([key, name]) => [key, target(name)])) }
}

/** The long form of a case. */
function spelledOut(one: Case): Case {
  if (one.go === undefined && one.spiff === undefined) return one
  const template =
    one.go === undefined
      ? { bindings: { it: `(( ${one.spiff ?? ''} ))` } }
      : `bindings: { it: {{ ${one.go} | toJson }} }`
  const type = one.go === undefined ? 'Spiff' : 'GoTemplate'
  const blueprint = {
    imports: ['count', 'names'].map((name) => ({ name, type: 'data', required: false, schema: {} })),
    importExecutions: [{ name: 'one', type, template }],
  }
  return {
    ...one,
    run: 'imports',
    only: ['it'],
    blueprint,
    files: FUNCTION_FILES,
    data: { count: 3, names: ['oak', 'ash'] },
  }
}

function shown(result: unknown, { show, only, go, spiff }: Case): unknown {
  if (show !== undefined) return (result as readonly Fields[]).map((element) => element[show])
  if (go !== undefined || spiff !== undefined) return (result as Fields)['it']
  if (only === undefined) return result
  return Object.fromEntries(only.map((key) => [key, (result as Fields)[key]]))
}

describe.each(FILES)('the golden cases of %s', (file) => {
  it.each(casesOf(file).map((one): [string, Case] => [one.name, one]))('%s', async (_, written) => {
    const one = spelledOut(written)
    const run = RUNS[one.run ?? 'imports'](one)
    if (one.fails !== undefined) {
      await expect(run).rejects.toMatchObject({
        name: 'BlueprintError',
        message: expect.stringContaining(one.fails) as string,
      })
      return
    }
    const { result, states } = await run
    expect(shown(result, written)).toEqual(written.expect)
    expect(states).toEqual(one.keeps ?? {})
  })
})
