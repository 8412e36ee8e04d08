// Renders deploy/chart with the template engine that deployers use, so that Helm is not needed.
//
//   R1. It renders the same objects as `helm template`. test/env/install-command.test.ts compares both.
//   R2. Objects with pods come last, because they need the others.

import { readdir, readFile } from 'node:fs/promises'

import { startEngine, type EngineAnswer } from '../../../activities/templates/engine-instance.ts'
import { compiledEngine } from '../../../activities/templates/engine-module.ts'
import { readJson, writeJson } from '../../../workflows/kit/index.ts'
import { parseYamlDocuments, readYaml, YamlError } from '../../../activities/yaml/read-yaml.ts'
import { UsageError } from '../../server/usage-error.ts'

const CHART = new URL('../../../deploy/chart/', import.meta.url)
const CRDS = new URL('../../../deploy/crds/', import.meta.url)
const OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly template?: object }
}

export interface Release {
  readonly name: string
  readonly namespace: string
}

/** @throws UsageError if a template rejects a value; Error that names the template which fails. */
export async function renderChart(release: Release, values: object): Promise<readonly Manifest[]> {
  const files = await templateFiles()
  const binding = { Values: values, Chart: await chartFields(), Release: releaseFields(release) }
  const engine = startEngine(await compiledEngine())
  const manifests = Object.keys(files)
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .flatMap((name) => {
      const request = { engine: 'GoTemplate', name, template: files[name], binding, files }
      const answer = engine.render(writeJson({ ...request, limitBytes: OUTPUT_LIMIT_BYTES }))
      const { output, failed, message } = readJson(answer) as EngineAnswer
      if (failed !== '') throw templateError(name, message)
      return manifestsIn(name, output)
    })
  return [...manifests.filter((one) => !hasPods(one)), ...manifests.filter(hasPods)]
}

/** After `CALL` comes the sentence that a template passes to `fail`. */
const CALL = 'error calling fail: '

function templateError(name: string, message: string): Error {
  const at = message.lastIndexOf(CALL)
  return at < 0 ? new Error(`chart: template "${name}": ${message}`) : new UsageError(message.slice(at + CALL.length))
}

/** The CRDs of these wings. */
export async function crdsOf(wings: readonly string[]): Promise<readonly Manifest[]> {
  const ofEach = wings.map(async (wing) => {
    const folder = new URL(`${wing}/`, CRDS)
    const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort()
    return await Promise.all(
      names.map(async (name) => manifestsIn(name, await readFile(new URL(name, folder), 'utf8'))),
    )
  })
  return (await Promise.all(ofEach)).flat(2)
}

/** By name without a folder: the partials of the chart have the names of their files, because `include` of the engine reads a file. */
async function templateFiles(): Promise<Readonly<Record<string, string>>> {
  const folder = new URL('templates/', CHART)
  const names = (await readdir(folder)).filter((name) => /\.(?:yaml|tpl)$/.test(name))
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, folder), 'utf8')] as const)),
  )
}

async function chartFields(): Promise<object> {
  const fields = readYaml(await readFile(new URL('Chart.yaml', CHART), 'utf8')) as Readonly<Record<string, string>>
  return { Name: fields['name'], Version: fields['version'], AppVersion: fields['appVersion'] }
}

function releaseFields({ name, namespace }: Release): object {
  return { Name: name, Namespace: namespace, Service: 'Helm', Revision: 1, IsInstall: true, IsUpgrade: false }
}

function manifestsIn(name: string, text: string): readonly Manifest[] {
  return parseYamlDocuments(text).flatMap((parsed) => {
    if (parsed instanceof YamlError) throw new Error(`chart: "${name}": line ${parsed.line}: ${parsed.message}`)
    return parsed.value === null ? [] : [parsed.value as Manifest]
  })
}

function hasPods({ spec }: Manifest): boolean {
  return spec?.template !== undefined
}
