// The ways in which a template can fail to render. What a user sees is made from it in rendered-output.ts.

/**
 * `TemplateFailed`: it does not parse, or an action in it failed. `TemplateTimeout`, `TemplateMemory`, `TemplateTooLarge`: it needed more time,
 * memory, or room for its output than it may have. `TemplateCrashed`: the engine died without a reason that is known.
 */
export type TemplateErrorCode =
  'TemplateFailed' | 'TemplateTimeout' | 'TemplateMemory' | 'TemplateTooLarge' | 'TemplateCrashed'

/** The message quotes the blueprint's own text only, never a value of the binding. */
export class TemplateError extends Error {
  readonly code: TemplateErrorCode

  constructor(code: TemplateErrorCode, message: string) {
    super(message)
    this.name = 'TemplateError'
    this.code = code
  }
}
