// A mistake in a blueprint, or in what its templates produce: for the person who wrote it, on the object's status. Never retried.

/**
 * `ERR_CONFIGURATION_PROBLEM`: the blueprint or what it produces is malformed. `TemplatingFailed`: a template does not render to what it should.
 * `SchemaValidationFailed`: a produced export is not of its declared type. `ExportNotProduced`: a wanted export was not produced.
 * `NotSupported`: valid, but Pawl cannot do it yet. Source: spec/landscaper.md 1.14 and 1.16.
 */
export type BlueprintErrorCode =
  'ERR_CONFIGURATION_PROBLEM' | 'TemplatingFailed' | 'SchemaValidationFailed' | 'ExportNotProduced' | 'NotSupported'

/** The message holds no value of an import, target, export or data object. */
export class BlueprintError extends Error {
  readonly code: BlueprintErrorCode

  constructor(code: BlueprintErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BlueprintError'
    this.code = code
  }
}
