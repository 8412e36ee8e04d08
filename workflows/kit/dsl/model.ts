// The model of a valid document: resolved names, selectors as queries. `check` builds it and `emit` uses it.

/** A kind and the module that has its type. */
export interface KindReference {
  /** The name in the document and in generated code. */
  readonly alias: string
  readonly kind: string
  /** Group and version; the version alone for Kubernetes' core group. */
  readonly groupVersion: string
  /** The module path in `bind`. */
  readonly module: string
}

/**
 * The mode of a controller. `level`: the kit reads target and states in every pass. `job`: activities read them by the same queries, and a run, which
 * is one
 * job of the target, keeps their views.
 */
export type Mode = 'level' | 'job'

export const MODES: readonly Mode[] = ['level', 'job']

/** Templates are texts in which references have their full path: `${target.metadata.name}-x`. */
export interface QueryModel {
  readonly many: boolean
  readonly name?: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly fields?: Readonly<Record<string, string>>
  readonly controller?: string
  /** Paths of the target. */
  readonly labelsFrom?: string
  readonly namespacesFrom?: string
  /** Paths of the objects. */
  readonly pick?: readonly string[]
  readonly owned: boolean | 'label'
  readonly fresh: boolean
}

export interface StateModel {
  readonly doc: readonly string[]
  readonly name: string
  readonly kind: KindReference
  readonly query: QueryModel
}

export interface ActionModel {
  readonly doc: readonly string[]
  readonly name: string
  readonly states: readonly StateModel[]
}

export interface ControllerModel {
  readonly doc: readonly string[]
  /** In PascalCase, for types. */
  readonly typeName: string
  /** In camelCase, for values. */
  readonly valueName: string
  readonly mode: Mode
  readonly target: KindReference
  readonly states: readonly StateModel[]
  readonly actions: readonly ActionModel[]
}
