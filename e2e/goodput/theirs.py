"""Has ml-goodput-measurement account for the life of a job, and prints its account in seconds, as JSON.

Standard input has the life: a JSON list of what the code of the job records, each as [name, seconds since the epoch, step or null].
Their recorder and calculator work unchanged. A list stands for Google Cloud Logging, as in their own tests.
"""

import datetime
import importlib.metadata
import json
import sys
import tempfile

from ml_goodput_measurement import goodput


class Log:
    """The entries of one job, in memory."""

    def __init__(self):
        self.entries = []

    def write_cloud_logging_entry(self, entry):
        self.entries.append(entry)

    def read_cloud_logging_entries(self, start_time=None, end_time=None, last_entry_info=None):
        return self.entries, (datetime.datetime.now(datetime.timezone.utc), str(len(self.entries)))


def main():
    log = Log()
    recorder = goodput.GoodputRecorder("job", "log", logging_enabled=True, cloud_logger=log)
    for name, seconds, step in json.load(sys.stdin):
        at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        record = getattr(recorder, f"record_{name}_time")
        record(at) if step is None else record(step, at)
    with tempfile.TemporaryDirectory() as cache:
        calculator = goodput.GoodputCalculator("job", "log", cloud_logger=log, cache_dir=cache)
        percent, _, _ = calculator.get_job_goodput()
        details = calculator.get_job_goodput_details()
    account = {kind.name: seconds for kind, seconds in details["badput_time"].items() if not isinstance(seconds, dict)}
    account["PRODUCTIVE"] = details["goodput_time"][goodput.GoodputType.TOTAL]
    json.dump(
        {
            "version": importlib.metadata.version("ml-goodput-measurement"),
            "account": account,
            "total": details["total_elapsed_time"],
            "goodput": percent / 100,
            "disruptions": details["disruption_count"],
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
