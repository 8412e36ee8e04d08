// A mistake in a blueprint, or in the output of its templates. It is reported to the author in the status of the object, and never retried.

import { shortenList } from '../../../workflows/kit/kind/shorten-list.ts'

/**
 * `ERR_CONFIGURATION_PROBLEM`: the blueprint or its output is malformed. `ERR_CYCLIC_DEPENDENCIES`: its sub-installations import from each other in a
 * cycle. `TemplatingFailed`: a template cannot be rendered, or renders an invalid document.
 * `ImportNotSatisfied`: a required import has no value, or a value of another kind. `InvalidDefaultValue`: a default does not match the schema of its
 * import.
 * `SchemaValidationFailed`: an import or export does not match its schema or type, or a schema is invalid. `ImportExecutionFailed`: an import
 * execution reports errors. `ExportNotProduced`: a requested export was not produced. `NotSupported`: valid, but not implemented in Pawl.
 * `ComponentNotFound`: a component, a reference, a resource or its content does not exist.
 * `RegistryDenied`: a registry refuses the credentials, or requires some. `RegistryNotAllowed`: the operator forbids the registry's address.
 * `UntrustedServer`: the certificate of the registry is not trusted. `UntrustedContent`: the content of a response does not match its digest or type.
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

/** The message contains no value of an import, target, export or data object. Errors that import executions report are text of the author. */
export class BlueprintError extends Error {
  readonly code: BlueprintErrorCode

  constructor(code: BlueprintErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BlueprintError'
    this.code = code
  }
}

const MAX_PROBLEMS = 20

/** Joins problems in one line; of more than MAX_PROBLEMS only the first are listed. */
export function joinProblems(problems: readonly string[]): string {
  return shortenList(problems, MAX_PROBLEMS).join(' | ')
}

// The reasons why a template cannot be rendered. rendered-output.ts turns them into messages for the author.

/**
 * `TemplateFailed`: the template does not parse, or one of its actions fails. `TemplateTimeout`, `TemplateMemory`, `TemplateTooLarge`: it exceeds the
 * limit for time, memory or output. `TemplateCrashed`: the engine ended for an unknown reason.
 */
export type TemplateErrorCode =
  'TemplateFailed' | 'TemplateTimeout' | 'TemplateMemory' | 'TemplateTooLarge' | 'TemplateCrashed'

/** The message quotes only text of the blueprint, never a value of the binding. */
export class TemplateError extends Error {
  readonly code: TemplateErrorCode

  constructor(code: TemplateErrorCode, message: string) {
    super(message)
    this.name = 'TemplateError'
    this.code = code
  }
}
