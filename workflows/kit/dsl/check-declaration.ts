// Checks one `decl`: its states, its actions, and the references between them.

import type { ActionDeclaration, Declaration, Name, StateDeclaration } from './ast.ts'
import { jobQueryProblem } from '../run/job/job-query.ts'
import { resolveSelectors } from './check-selectors.ts'
import { alternatives, didYouMean, quote, type Report } from './diagnostic.ts'
import { type KindLookup, kubernetesGroupVersion, kubernetesModule } from './kind-facts.ts'
import {
  type ActionModel,
  type ControllerModel,
  type KindReference,
  type Mode,
  MODES,
  type QueryModel,
  type StateModel,
} from './model.ts'
import { camelCase, isUsable, pascalCase, Unique } from './names.ts'

export interface DeclarationContext {
  /** Kinds by alias; undefined for an invalid alias. */
  readonly kinds: ReadonlyMap<string, KindReference | undefined>
  /** Modules by group and version. */
  readonly modules: ReadonlyMap<string, string>
  readonly lookup: KindLookup
  readonly report: Report
}

/** The model of a declaration; undefined without a valid name or kind. */
export function checkDeclaration(declaration: Declaration, context: DeclarationContext): ControllerModel | undefined {
  const { doc, name, target } = declaration
  const mode = checkMode(declaration, context.report)
  const usable = isUsable(name, 'controller', context.report)
  const kind = resolveAlias(target, context)
  const states = checkStates(declaration, kind, { ...context, mode })
  const actions = checkActions(declaration, states, { ...context, mode })
  if (!usable || kind === undefined) return undefined
  return {
    doc,
    typeName: pascalCase(name.text),
    valueName: camelCase(name.text),
    mode,
    target: kind,
    states: [...states.values()].flatMap((state) => state ?? []),
    actions,
  }
}

function checkMode({ mode }: Declaration, report: Report): Mode {
  if (mode === undefined) return 'level'
  const known = MODES.find((name) => name === mode.text)
  if (known === undefined)
    report(
      'CM026',
      mode.at,
      `unknown mode ${quote(mode.text)}; expected ${alternatives(MODES)}${didYouMean(mode.text, MODES)}`,
    )
  return known ?? 'level'
}

/** States by name in the document; undefined for an invalid state. */
type States = ReadonlyMap<string, StateModel | undefined>

function checkStates(
  { states, target }: Declaration,
  targetKind: KindReference | undefined,
  context: DeclarationContext & { readonly mode: Mode },
): States {
  const { lookup, report, mode } = context
  const names = new Unique(report)
  const checked = new Map<string, StateModel | undefined>()
  const targetFacts = targetKind && lookup(targetKind)
  for (const state of states) {
    const usable = isUsable(state.name, 'state', report)
    const kind = resolveAlias(state.kind, context)
    const templates = { target: target.text, facts: targetFacts, report }
    const query = resolveSelectors(state, { templates, facts: kind && lookup(kind), report })
    if (mode !== 'level') checkJobQuery(state, query, { mode, report })
    const name = camelCase(state.name.text)
    const model = usable && kind ? { doc: state.doc, name, kind, query } : undefined
    if (names.add(state.name, 'state', name)) checked.set(state.name.text, model)
    else if (!checked.has(state.name.text)) checked.set(state.name.text, undefined)
  }
  return checked
}

// The position of the unsupported selector; for a missing selector, the state's position.
function checkJobQuery(
  { name, selectors }: StateDeclaration,
  query: QueryModel,
  { mode, report }: { readonly mode: Mode; readonly report: Report },
): void {
  const problem = jobQueryProblem(query)
  if (problem === undefined) return
  const { text, selector } = problem
  const asking = selector === undefined ? undefined : selectors.find(({ key }) => key.text.startsWith(selector))
  report('CM037', (asking?.key ?? name).at, `state ${quote(name.text)}, in mode ${mode}: ${text}`)
}

function checkActions(
  { name, states, actions }: Declaration,
  known: States,
  { report, mode }: DeclarationContext & { readonly mode: Mode },
): readonly ActionModel[] {
  const names = new Unique(report)
  const models = actions.map((action) => {
    isUsable(action.name, 'action', report)
    names.add(action.name, 'action', camelCase(action.name.text))
    return {
      doc: action.doc,
      name: camelCase(action.name.text),
      states: checkParameters(action, known, { report, mode }),
    }
  })
  if (actions.length === 0)
    report('CM052', name.at, `${quote(name.text)} has no action; expected at least one in 'action { }'`)
  else reportUnused(states, actions, report)
  return models
}

function checkParameters(
  { name, states }: ActionDeclaration,
  known: States,
  { report, mode }: { readonly report: Report; readonly mode: Mode },
): readonly StateModel[] {
  const names = new Unique(report)
  return states.flatMap((state) => {
    names.add(state, `in ${name.text}(...), state`)
    const model = known.get(state.text)
    if (!known.has(state.text))
      report('CM025', state.at, `unknown state ${quote(state.text)}${hint(state, known, mode)}`)
    return model ?? []
  })
}

const WHERE_TARGET_IS: Readonly<Record<Mode, string>> = {
  level: 'the target is in every pass: leave it out, and use pass.target',
  job: 'the target is in every pass: leave it out, and use pass.state.target',
}

function hint(state: Name, known: States, mode: Mode): string {
  if (state.text === 'target') return `; ${WHERE_TARGET_IS[mode]}`
  const names = [...known.keys()]
  return `; expected ${names.length === 0 ? "a state of the section 'state { }', which declares none" : alternatives(names)}${didYouMean(state.text, names)}`
}

function reportUnused(
  states: readonly StateDeclaration[],
  actions: readonly ActionDeclaration[],
  report: Report,
): void {
  const used = new Set(actions.flatMap(({ states: asked }) => asked.map(({ text }) => text)))
  // A misspelt parameter is reported already, so its meaning does not count as unused.
  if ([...used].some((asked) => !states.some(({ name }) => name.text === asked))) return
  for (const { name } of states) {
    if (!used.has(name.text))
      report('CM050', name.at, `state ${quote(name.text)} is not the argument of an action; every pass still reads it`)
  }
}

/** The kind of an alias, or a Kubernetes kind without alias. */
function resolveAlias({ text, at }: Name, { kinds, modules, report }: DeclarationContext): KindReference | undefined {
  if (text === '') return undefined
  const groupVersion = kinds.has(text) ? undefined : kubernetesGroupVersion(text)
  const module = groupVersion && (modules.get(groupVersion) ?? kubernetesModule(groupVersion, text))
  if (groupVersion !== undefined && module !== undefined) return { alias: text, kind: text, groupVersion, module }
  if (!kinds.has(text)) {
    const names = [...kinds.keys()]
    const expected = text.includes('/')
      ? `expected the name of an alias: 'alias ${text.split('/').at(-1) ?? ''} ${text}'`
      : `expected 'alias ${text} GROUP/VERSION/KIND'`
    report('CM024', at, `unknown alias ${quote(text)}; ${expected}${didYouMean(text, names)}`)
  }
  return kinds.get(text)
}
