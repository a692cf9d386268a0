# Read by the shell at its start. Functions are parsed here, before any alias exists, and speak to /dev/tty, so
# that redirections, options, prompts and aliases of the user's commands change nothing.
set +H +o history
unset HISTFILE MAILCHECK
# The second argument is a file with secrets for the command, emptied once they are read.
__deft_begin() {
  local status=$?
  __deft_line=$1
  if [[ ${2-} ]]; then
    \. "$2"
    : >|"$2"
  fi
  case $- in *e*) return 0 ;; esac
  return "$status"
}
__deft_end() {
  if [[ ${__deft_given-} ]]; then
    eval "\\unset -v $__deft_given" || :
    __deft_given=
  fi
  builtin printf '\033]7770;%s;%s;%s;%s\007' "$1" "$2" "${!-}" "${PATH-}" >/dev/tty
  PS0= PS1= PS2= PROMPT_COMMAND='{ __deft_prompt; } >/dev/null 2>&1'
  case $- in *e*) return 0 ;; esac
  return "$2"
}
__deft_prompt() {
  builtin printf '\033]7770;%s;%s\007' @TOKEN@ "${__deft_line-0}" >/dev/tty
}
PS0= PS1= PS2= PROMPT_COMMAND='{ __deft_prompt; } >/dev/null 2>&1'
