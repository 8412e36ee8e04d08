// Checks the selectors of a state and builds its query. Source: the RFC's table of selectors, and spec/kit.md 2 and 8.

import type { Name, Selector, StateDeclaration, Template } from './ast.ts'
import { literalText, pickedPaths, resolveTemplate, targetPath, type TemplateContext } from './check-template.ts'
import { alternatives, didYouMean, quote, type Report } from './diagnostic.ts'
import { isLabelKey, type KindFacts } from './kind-facts.ts'
import type { QueryModel } from './model.ts'

const FLAGS = ['owned', 'fresh'] as const
const VALUES = ['name', 'namespace'] as const
/** Selectors whose values are field paths. */
const PATHS = ['labelsFrom', 'namespacesFrom', 'pick'] as const
const PREFIXES = ['labels/', 'fields/'] as const
const SELECTORS = [...VALUES, ...PREFIXES, ...PATHS, ...FLAGS]
/** Words that may follow `owned`. */
const BY_LABEL = 'label'

// The selector of the RFC's example: an index of the controlling owner's name, which Pawl compares itself.
const CONTROLLER_FIELD = 'metadata.controller'
const SELECTABLE_METADATA = ['metadata.name', 'metadata.namespace']

const OBJECT_NAME = /^[A-Za-z0-9.:_-]+$/
// All namespaces, or one.
const NAMESPACE = /^(?:\*|[a-z0-9-]+)$/
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$/
const LONGEST_LABEL_VALUE = 63

export interface StateContext {
  readonly templates: TemplateContext
  /** The known facts of the state's own kind. */
  readonly facts: KindFacts | undefined
  readonly report: Report
}

/** The query of the selectors; reports problems. */
export function resolveSelectors(state: StateDeclaration, context: StateContext): QueryModel {
  const query = new QueryBuilder(state, context)
  const seen = new Map<string, Name>()
  for (const selector of state.selectors) {
    const { key } = selector
    const known = seen.get(key.text)
    if (known !== undefined) {
      context.report(
        'CM020',
        key.at,
        `selector ${quote(key.text)} is repeated; the first one is in line ${known.at.line}`,
      )
      continue
    }
    seen.set(key.text, key)
    query.add(selector)
  }
  return query.finish()
}

const EXPECTED_AT = {
  labelsFrom: 'a map of labels, or a selector',
  namespacesFrom: 'a list of strings, or a string',
} as const

class QueryBuilder {
  readonly #state: StateDeclaration
  readonly #context: StateContext
  readonly #labels = new Map<string, string>()
  readonly #fields = new Map<string, string>()
  readonly #values = new Map<'name' | 'namespace' | 'controller', string>()
  readonly #flags = new Set<string>()
  readonly #paths = new Map<'labelsFrom' | 'namespacesFrom', string>()
  #pick: readonly string[] | undefined
  #isOwnedByLabel = false

  constructor(state: StateDeclaration, context: StateContext) {
    this.#state = state
    this.#context = context
  }

  add({ key, value }: Selector): void {
    const flag = FLAGS.find((name) => name === key.text)
    if (flag !== undefined) {
      this.#addFlag(flag, value)
      return
    }
    const path = PATHS.find((name) => name === key.text)
    const named = VALUES.find((name) => name === key.text)
    const prefix = PREFIXES.find((start) => key.text.startsWith(start))
    if (named === undefined && prefix === undefined && path === undefined) this.#unknown(key)
    else if (value === undefined)
      this.#report('CM031', key.at, `${quote(key.text)} has no value; expected '=' and a value`)
    else if (named !== undefined) this.#addNamed(named, key, value)
    else if (path !== undefined) this.#addPath(path, key, value)
    else if (prefix === 'labels/') this.#addLabel(key, value)
    else this.#addField(key, value)
  }

  finish(): QueryModel {
    this.#checkWhole()
    const [name, namespace, controller] = (['name', 'namespace', 'controller'] as const).map((key) =>
      this.#values.get(key),
    )
    return {
      many: this.#state.many,
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(this.#labels.size === 0 ? {} : { labels: Object.fromEntries(this.#labels) }),
      ...(this.#fields.size === 0 ? {} : { fields: Object.fromEntries(this.#fields) }),
      ...(controller === undefined ? {} : { controller }),
      ...Object.fromEntries(this.#paths),
      ...(this.#pick === undefined ? {} : { pick: this.#pick }),
      owned: this.#isOwnedByLabel ? BY_LABEL : this.#flags.has('owned'),
      fresh: this.#flags.has('fresh'),
    }
  }

  #addFlag(flag: (typeof FLAGS)[number], value: Template | undefined): void {
    this.#flags.add(flag)
    if (value === undefined) return
    this.#isOwnedByLabel = flag === 'owned' && literalText(value) === BY_LABEL
    if (this.#isOwnedByLabel) return
    const expected = flag === 'owned' ? `no value but ${quote(BY_LABEL)}` : 'no value'
    this.#report('CM032', value.at, `${quote(flag)} takes ${expected}`)
  }

  #addPath(path: (typeof PATHS)[number], key: Name, value: Template): void {
    const { facts, report, templates } = this.#context
    const kind = this.#state.kind.text
    if (path === 'pick') {
      this.#pick = pickedPaths(value, { kind, facts, report })
      return
    }
    if (path === 'namespacesFrom' && facts?.isNamespaced === false)
      this.#report('CM044', key.at, `${kind} is cluster-scoped; expected no 'namespacesFrom'`)
    const target = { ...templates, kind: templates.target }
    this.#paths.set(path, targetPath(value, EXPECTED_AT[path], target))
  }

  #unknown(key: Name): void {
    const whole = key.text.replace(/\/.*$/s, '/')
    const expected = `expected ${alternatives(SELECTORS.map((word) => (word.endsWith('/') ? `${word}...` : word)))}`
    this.#report('CM030', key.at, `unknown selector ${quote(key.text)}; ${expected}${didYouMean(whole, SELECTORS)}`)
  }

  #addNamed(named: 'name' | 'namespace', key: Name, value: Template): void {
    const [form, signs] =
      named === 'name'
        ? [OBJECT_NAME, "letters, digits, '.', '-', '_' and ':'"]
        : [NAMESPACE, "small letters, digits and '-', or '*' alone"]
    if (!form.test(literalText(value)))
      this.#report(
        'CM036',
        value.at,
        `${quote(key.text)} is ${quote(literalText(value))}; expected at least one of ${signs}`,
      )
    if (named === 'namespace' && this.#context.facts?.isNamespaced === false)
      this.#report('CM044', key.at, `${this.#state.kind.text} is cluster-scoped; expected no 'namespace'`)
    this.#values.set(named, this.#resolve(value))
  }

  #addLabel(key: Name, value: Template): void {
    const label = key.text.slice('labels/'.length)
    if (!isLabelKey(label))
      this.#report(
        'CM036',
        key.at,
        `found label key ${quote(label)}; expected a valid key, such as app.kubernetes.io/name`,
      )
    const text = literalText(value)
    if (!LABEL_VALUE.test(text) || text.length > LONGEST_LABEL_VALUE)
      this.#report(
        'CM036',
        value.at,
        `found label value ${quote(text)}; expected at most ${LONGEST_LABEL_VALUE} letters, digits, '.', '-' and '_'`,
      )
    this.#labels.set(label, this.#resolve(value))
  }

  #addField(key: Name, value: Template): void {
    const field = key.text.slice('fields/'.length).replace(/^\./, '')
    const resolved = this.#resolve(value)
    if (field === CONTROLLER_FIELD) this.#values.set('controller', resolved)
    else {
      this.#checkField(key, field)
      if (this.#fields.has(field)) this.#report('CM020', key.at, `field ${quote(field)} is selected twice`)
      this.#fields.set(field, resolved)
    }
  }

  #checkField(key: Name, field: string): void {
    const { facts } = this.#context
    const selectable = [...SELECTABLE_METADATA, CONTROLLER_FIELD, ...(facts?.selectableFields ?? [])]
    const kind = this.#state.kind.text
    const isPath = /^[A-Za-z]\w*(?:\.[A-Za-z]\w*)+$/.test(field)
    if (selectable.includes(field)) return
    if (facts === undefined && isPath && !field.startsWith('metadata.')) {
      this.#report(
        'CM051',
        key.at,
        `the fields of ${kind} are unknown: the API server may not support the field selector ${quote(field)}`,
      )
      return
    }
    const expected = `expected ${alternatives(selectable)}${didYouMean(field, selectable)}`
    this.#report(
      'CM043',
      key.at,
      `the API server does not support the field selector ${quote(field)} for ${kind}; ${expected}`,
    )
  }

  // Combinations of selectors that contradict each other.
  #checkWhole(): void {
    const { name, many, selectors } = this.#state
    const others = selectors.filter(
      ({ key }) => key.text === 'labelsFrom' || PREFIXES.some((prefix) => key.text.startsWith(prefix)),
    )
    const twice = selectors.find(({ key }) => key.text === 'namespacesFrom')
    if (twice !== undefined && this.#values.has('namespace'))
      this.#report('CM020', twice.key.at, "found 'namespacesFrom' beside 'namespace'; expected one of them")
    const isChosen =
      this.#values.has('name') || others.length > 0 || this.#flags.has('owned') || selectors.length > this.#known()
    if (!many && !isChosen)
      this.#report(
        'CM035',
        name.at,
        `state ${quote(name.text)} is a single object without selector; expected 'name', or labels/... that only one object has`,
      )
  }

  // The valid selectors; a state with invalid ones gets no further diagnostics.
  #known(): number {
    const paths = this.#paths.size + (this.#pick === undefined ? 0 : 1)
    return this.#values.size + this.#labels.size + this.#fields.size + this.#flags.size + paths
  }

  #resolve(value: Template): string {
    return resolveTemplate(value, this.#context.templates)
  }

  #report(...found: Parameters<Report>): void {
    this.#context.report(...found)
  }
}
