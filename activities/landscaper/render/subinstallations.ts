// The sub-installations of a blueprint: listed ones first, then those that its executions render. Source: spec/landscaper.md 2.5, 3.5, 3.6.

import { BlueprintError, joinProblems } from './render-errors.ts'
import { MAX_SUBINSTALLATIONS, type TemplateExecutor, type ImportDefinition } from './blueprint/blueprint-definition.ts'
import type { Blueprint, BlueprintData } from './blueprint/blueprint.ts'
import { exportProblems, cycleProblem } from '../../../workflows/landscaper/data-flow.ts'
import { commonBinding, type ExecutionBindings } from './executions.ts'
import { renderAll, type ExecutionStates } from './executor.ts'
import { readFields, type Fields } from './field-reader.ts'
import type { ConstructedImports } from './imports.ts'
import { readListedTemplates, readTemplate, type SubinstallationTemplate } from './subinstallation-templates.ts'
import type { TemplateEngine } from './engine/template-engine.ts'

export interface SubinstallationBindings extends ExecutionBindings {
  /** The states of the previous job. */
  readonly states?: ExecutionStates
}

export interface RenderedSubinstallations {
  readonly templates: readonly SubinstallationTemplate[]
  /** The new states of executors that have one. */
  readonly states: ExecutionStates
}

/** The imports that the parent passes on. */
type ParentImports = Pick<ConstructedImports, 'data' | 'targetObjects'>

/**
 * All templates of a blueprint, validated against each other and against the parent's imports.
 *
 * @param imports of the parent. Optional data that the parent lacks is removed from the imports of sub-installations.
 * @throws BlueprintError `ERR_CONFIGURATION_PROBLEM` with all problems; `ERR_CYCLIC_DEPENDENCIES` with the path if the only problem is a cycle; the
 * error of a template.
 */
export async function renderSubinstallations(
  engine: TemplateEngine & { readonly data: BlueprintData },
  blueprint: Blueprint,
  bindings: SubinstallationBindings,
  imports: ParentImports,
): Promise<RenderedSubinstallations> {
  const problems: string[] = []
  const listed = await readListedTemplates(engine.data, blueprint, problems)
  const { rendered, states } = await renderExecutions(engine, blueprint, bindings, problems)
  const templates = [...listed, ...rendered]
  if (templates.length > MAX_SUBINSTALLATIONS)
    problems.push(`found ${templates.length} sub-installations; expected at most ${MAX_SUBINSTALLATIONS}`)
  problems.push(...nameProblems(templates))
  // Templates that could not be read would only cause the same problems again.
  if (problems.length === 0) problems.push(...scopeProblems(blueprint.imports, templates))
  if (problems.length === 0)
    problems.push(...exportProblems(templates).map((problem) => `subinstallations: ${problem}`))
  if (problems.length > 0) throw new BlueprintError('ERR_CONFIGURATION_PROBLEM', joinProblems(problems))
  const ring = cycleProblem(templates)
  if (ring !== undefined) throw new BlueprintError('ERR_CYCLIC_DEPENDENCIES', `subinstallations: ${ring}`)
  const absent = missingOptionalData(blueprint.imports, imports)
  return { templates: templates.map((template) => withoutImports(template, absent)), states }
}

async function renderExecutions(
  engine: TemplateEngine,
  blueprint: Blueprint,
  bindings: SubinstallationBindings,
  problems: string[],
): Promise<{ readonly rendered: readonly SubinstallationTemplate[]; readonly states: ExecutionStates }> {
  const rendered: SubinstallationTemplate[] = []
  const executors = blueprint.subinstallationExecutions
  const turn = { executors, binding: commonBinding(blueprint, bindings), states: bindings.states }
  const states = await renderAll(engine, blueprint, turn, (document, executor) => {
    rendered.push(...templatesIn(document, executor, blueprint.component, problems))
    return rendered.length <= MAX_SUBINSTALLATIONS
  })
  return { rendered, states }
}

function templatesIn(
  document: Fields,
  { name }: TemplateExecutor,
  component: Blueprint['component'],
  problems: string[],
): SubinstallationTemplate[] {
  const place = `template "${name}"`
  const report = (_: unknown, problem: string) => problems.push(`${place}: subinstallations: ${problem}`)
  const list = readFields(document, [], report, 'fold').list('subinstallations') ?? []
  if (list.length > MAX_SUBINSTALLATIONS) {
    problems.push(`${place}: found ${list.length} sub-installations; expected at most ${MAX_SUBINSTALLATIONS}`)
    return []
  }
  return list.map((one, index) =>
    readTemplate(one, { place: `${place}: subinstallations[${index}]`, component }, problems),
  )
}

function nameProblems(templates: readonly SubinstallationTemplate[]): readonly string[] {
  const names = templates.map(({ name }) => name)
  const twice = new Set(names.filter((name, index) => name !== '' && names.indexOf(name) !== index))
  return [...twice].map((name) => `sub-installation "${name}": found the name twice; expected unique names`)
}

// Each import must come from the parent or a sibling, and no sub-installation may export a name that the parent imports.
function scopeProblems(
  definitions: readonly ImportDefinition[],
  templates: readonly SubinstallationTemplate[],
): readonly string[] {
  const known = allDefinitions(definitions)
  const of = (...types: readonly string[]) =>
    new Set(known.flatMap(({ name, type }) => (types.includes(type) ? [name] : [])))
  const scope = {
    data: union(
      of('data'),
      templates.flatMap(({ exports }) => exports.data.map(({ dataRef }) => dataRef)),
    ),
    targets: union(
      of('target'),
      templates.flatMap(({ exports }) => exports.targets.map(({ target }) => target)),
    ),
    lists: of('targetList'),
    maps: of('targetMap'),
  }
  const imported = new Set(known.map(({ name }) => name))
  return templates.flatMap((template) => {
    const say = (problem: string) => `sub-installation "${template.name}": ${problem}`
    const exported = [
      ...template.exports.data.map(({ dataRef }) => dataRef),
      ...template.exports.targets.map(({ target }) => target),
    ]
    const taken = exported.filter((name) => imported.has(name))
    return [
      ...unsatisfiedImports(template, scope).map((place) =>
        say(
          `${place} in the imports of the parent and the exports of the siblings; import it in the parent, or correct the name`,
        ),
      ),
      ...taken.map((name) => say(`exports: found "${name}", which is also an import of the parent; use another name`)),
    ]
  })
}

interface Scope {
  readonly data: ReadonlySet<string>
  readonly targets: ReadonlySet<string>
  readonly lists: ReadonlySet<string>
  readonly maps: ReadonlySet<string>
}

function unsatisfiedImports(
  { imports }: SubinstallationTemplate,
  { data, targets, lists, maps }: Scope,
): readonly string[] {
  const isThere = (name: string, names: ReadonlySet<string>) => name.startsWith('#') || names.has(name)
  const isTarget = (name: string) =>
    isThere(name, targets) || [...elementOwners(name)].some((one) => lists.has(one) || maps.has(one))
  const ofData = imports.data.flatMap(({ name, dataRef = '' }) =>
    isThere(dataRef, data) ? [] : [`import "${name}": no data "${dataRef}"`],
  )
  const ofTargets = imports.targets.flatMap(
    ({ name, target, targets: list = [], targetMap = {}, targetListRef, targetMapRef }) => {
      const single = [...(target === undefined ? [] : [target]), ...list, ...Object.values(targetMap)]
      return [
        ...single.filter((one) => !isTarget(one)).map((one) => `import "${name}": no target "${one}"`),
        ...(targetListRef === undefined || lists.has(targetListRef)
          ? []
          : [`import "${name}": no target list "${targetListRef}"`]),
        ...(targetMapRef === undefined || maps.has(targetMapRef)
          ? []
          : [`import "${name}": no target map "${targetMapRef}"`]),
      ]
    },
  )
  return [...ofData, ...ofTargets]
}

/** `clusters` for `clusters[2]` and `clusters[eu]`. */
function elementOwners(name: string): readonly string[] {
  const [, owner] = /^(.+)\[[^[\]]*\]$/.exec(name) ?? []
  return owner === undefined ? [] : [owner]
}

function union(left: ReadonlySet<string>, right: readonly string[]): ReadonlySet<string> {
  return new Set([...left, ...right])
}

function allDefinitions(definitions: readonly ImportDefinition[]): readonly ImportDefinition[] {
  return definitions.flatMap((one) => [one, ...allDefinitions(one.imports)])
}

// Only data: a missing optional target is up to the author of the template.
function missingOptionalData(definitions: readonly ImportDefinition[], { data }: ParentImports): ReadonlySet<string> {
  const absent = allDefinitions(definitions).filter(({ name, type }) => type === 'data' && !Object.hasOwn(data, name))
  return new Set(absent.map(({ name }) => name))
}

function withoutImports(template: SubinstallationTemplate, absent: ReadonlySet<string>): SubinstallationTemplate {
  const { data, targets } = template.imports
  return { ...template, imports: { data: data.filter(({ dataRef = '' }) => !absent.has(dataRef)), targets } }
}
