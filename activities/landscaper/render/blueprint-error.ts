// A mistake in a blueprint, or in what its templates produce: for the person who wrote it, on the object's status. Never retried.

/**
 * `ERR_CONFIGURATION_PROBLEM`: the blueprint or what it produces is malformed. `ERR_CYCLIC_DEPENDENCIES`: its sub-installations import from each
 * other in a ring. `TemplatingFailed`: a template does not render to what it should.
 * `ImportNotSatisfied`: a required import has no value, or a value of another kind. `InvalidDefaultValue`: a default is not of its import's schema.
 * `SchemaValidationFailed`: an import or an export is not of its declared type, or a schema is invalid. `ImportExecutionFailed`: an import
 * execution reports errors. `ExportNotProduced`: a wanted export was not produced. `NotSupported`: valid, but Pawl cannot do it yet.
 * `ComponentNotFound`: a component, a reference or a resource of one, or its content is not there.
 * `RegistryDenied`: a registry refuses the credentials, or wants some. `RegistryNotAllowed`: the operator lets nobody lead there. `UntrustedServer`: its
 * certificate is not trusted. `UntrustedContent`: it answers with something else than what was asked for.
 * Source: spec/landscaper.md 1.14 and 1.16.
 */
export type BlueprintErrorCode =
  | 'ERR_CONFIGURATION_PROBLEM'
  | 'ERR_CYCLIC_DEPENDENCIES'
  | 'TemplatingFailed'
  | 'ImportNotSatisfied'
  | 'InvalidDefaultValue'
  | 'SchemaValidationFailed'
  | 'ImportExecutionFailed'
  | 'ExportNotProduced'
  | 'NotSupported'
  | 'ComponentNotFound'
  | 'RegistryDenied'
  | 'RegistryNotAllowed'
  | 'UntrustedServer'
  | 'UntrustedContent'

/** The message holds no value of an import, target, export or data object; what import executions report is their author's word. */
export class BlueprintError extends Error {
  readonly code: BlueprintErrorCode

  constructor(code: BlueprintErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BlueprintError'
    this.code = code
  }
}

const MAX_PROBLEMS = 20

/** Problems in one line; of very many only the first. */
export function joinProblems(problems: readonly string[]): string {
  const shown = problems.slice(0, MAX_PROBLEMS)
  const more = problems.length - shown.length
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')
}
