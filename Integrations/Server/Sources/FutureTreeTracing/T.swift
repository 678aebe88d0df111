import Tracing
