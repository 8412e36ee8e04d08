// Checks a document and builds its model: resolves names and interprets selectors. Reports every mistake; the model is
// usable for code generation only without mistakes.

import type { Alias, Bind, Declaration, Document, Name } from './ast.ts'
import { checkDeclaration } from './check-declaration.ts'
import { didYouMean, quote, type Report } from './diagnostic.ts'
import { type KindLookup, kubernetesModule } from './kind-facts.ts'
import type { ControllerModel, KindReference } from './model.ts'
import { camelCase, isUsable, pascalCase, Unique } from './names.ts'

const DNS_LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const GROUP_VERSION = new RegExp(`^(?:v1|${DNS_LABEL}(?:\\.${DNS_LABEL})*/${DNS_LABEL})$`)
const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/

// Hosts of Go packages; no npm package starts with them.
const GO_HOSTS = /^(?:(?:[a-z0-9-]+\.)?k8s\.io|github\.com|gitlab\.com|gopkg\.in|golang\.org)\//

/** The model of a document. `lookup` provides schemas; without it, field paths of targets are not checked. */
export function check(
  { binds, aliases, declarations }: Document,
  report: Report,
  lookup: KindLookup = () => undefined,
): readonly ControllerModel[] {
  const modules = checkBinds(binds, report)
  const kinds = checkAliases(aliases, modules, report)
  const [types, values] = [new Unique(report), new Unique(report)]
  const generated = new Map<string, string>()
  const models = declarations.flatMap((declaration) => {
    const { text } = declaration.name
    if (types.add(declaration.name, 'controller', pascalCase(text)))
      values.add(declaration.name, 'controller', camelCase(text))
    for (const name of generatedNames(declaration)) generated.set(name, text)
    return checkDeclaration(declaration, { kinds, modules, lookup, report }) ?? []
  })
  for (const { name } of aliases) {
    const owner = generated.get(name.text)
    if (owner !== undefined)
      report(
        'CM011',
        name.at,
        `alias name ${quote(name.text)} is used by the code of 'decl ${owner}'; choose another name`,
      )
  }
  return models
}

// An invalid bind still defines its name, so that its uses are not reported too.
function checkBinds(binds: readonly Bind[], report: Report): ReadonlyMap<string, string> {
  const names = new Unique(report)
  const modules = new Map<string, string>()
  for (const { groupVersion, module } of binds) {
    if (!GROUP_VERSION.test(groupVersion.text))
      report(
        'CM021',
        groupVersion.at,
        `found ${quote(groupVersion.text)}; expected v1 or group/version, such as batch/v1`,
      )
    if (names.add(groupVersion, 'bind of')) modules.set(groupVersion.text, module.text)
    const problem = moduleProblem(module.text)
    if (problem !== undefined)
      report('CM023', module.at, `${quote(module.text)} ${problem}; expected a TypeScript module, such as ./batch.ts`)
  }
  return modules
}

function moduleProblem(module: string): string | undefined {
  if (module === '') return undefined
  if (GO_HOSTS.test(module)) return 'is a Go package'
  if (/^\.{0,2}\//.test(module) && !/\.[cm]?[jt]s$/.test(module)) return 'has no ending'
  return /[\u0000-\u0020\u007f<>|\\^`]/.test(module) ? 'has invalid characters' : undefined
}

function checkAliases(
  aliases: readonly Alias[],
  modules: ReadonlyMap<string, string>,
  report: Report,
): ReadonlyMap<string, KindReference | undefined> {
  const names = new Unique(report)
  const kinds = new Map<string, KindReference | undefined>()
  for (const { name, kind } of aliases) {
    const usable = isUsable(name, 'alias', report)
    const resolved = resolveKind(kind, modules, report)
    if (names.add(name, 'alias'))
      kinds.set(name.text, usable && resolved ? { alias: name.text, ...resolved } : undefined)
  }
  return kinds
}

function resolveKind(
  { text, at }: Name,
  modules: ReadonlyMap<string, string>,
  report: Report,
): Omit<KindReference, 'alias'> | undefined {
  if (text === '') return undefined
  const slash = text.lastIndexOf('/')
  const [groupVersion, kind] = [text.slice(0, Math.max(0, slash)), text.slice(slash + 1)]
  if (!GROUP_VERSION.test(groupVersion) || !KIND.test(kind)) {
    report('CM021', at, `found ${quote(text)}; expected group, version and kind, such as batch/v1/Job`)
    return undefined
  }
  const module = modules.get(groupVersion) ?? kubernetesModule(groupVersion, kind)
  if (module === undefined)
    report(
      'CM022',
      at,
      `${quote(groupVersion)} is not bound to a module; add 'bind ${groupVersion} MODULE'${didYouMean(groupVersion, [...modules.keys()])}`,
    )
  return module === undefined ? undefined : { kind, groupVersion, module }
}

// In mode job the type of the pass is a type parameter; an alias of this name would hide it.
function generatedNames({ name: { text }, mode }: Declaration): readonly string[] {
  const isLevel = mode === undefined || mode.text === 'level'
  const types = [...(isLevel ? ['State', 'Pass'] : ['Observation']), 'Actions'].map((end) => pascalCase(text) + end)
  const values = ['Queries', 'Steps'].map((end) => camelCase(text) + end)
  return [...types, ...values, ...(isLevel ? [] : ['Pass'])]
}
